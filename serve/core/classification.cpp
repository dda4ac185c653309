// Sorting the elements of an output, and their texts as tensors of BYTES carry them.
// SPDX-License-Identifier: Apache-2.0
#include "core/classification.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/datatypes.hpp"

namespace octet::serve {
namespace {

template <typename T> std::vector<double> numbers_as(const byte_range &bytes) {
    std::vector<double> numbers;
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size; at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data + at, sizeof value);
        numbers.push_back(static_cast<double>(value));
    }
    return numbers;
}

std::vector<double> numbers_of(data_type type, const byte_range &bytes) {
    switch (type) {
    case data_type::f32:
        return numbers_as<float>(bytes);
    case data_type::s32:
        return numbers_as<std::int32_t>(bytes);
    case data_type::s16:
        return numbers_as<std::int16_t>(bytes);
    case data_type::s8:
        return numbers_as<std::int8_t>(bytes);
    case data_type::u8:
        return numbers_as<std::uint8_t>(bytes);
    default:
        throw refusal(outcome::invalid, std::string("parameter 'classification': an output of ") +
                                            protocol_name(type) + " has no order");
    }
}

std::string text_of(data_type type, double value) {
    return type == data_type::f32 ? std::to_string(value) : std::to_string(static_cast<std::int64_t>(value));
}

} // namespace

void classify(const served_model &m, job &j) {
    std::vector<std::byte> texts;
    std::vector<std::pair<std::size_t, std::size_t>> places(j.outputs.size()); // in `texts`
    for (std::size_t i = 0; i < j.classes.size(); i++) {
        if (j.classes[i] == 0)
            continue;
        const tensor_info &t = m.outputs()[j.wanted[i]];
        const std::vector<double> numbers = numbers_of(t.type, j.outputs[i]);
        const auto rows = static_cast<std::size_t>(m.is_batching() ? j.rows : 1);
        const std::size_t size = numbers.size() / rows;
        const auto count = std::min(size, static_cast<std::size_t>(j.classes[i]));
        places[i].first = texts.size();
        for (std::size_t row = 0; row < rows; row++) {
            std::vector<std::size_t> order(size);
            std::iota(order.begin(), order.end(), std::size_t{0});
            const double *values = numbers.data() + row * size;
            std::stable_sort(order.begin(), order.end(),
                             [&](auto a, auto b) { return values[a] > values[b]; });
            for (std::size_t k = 0; k < count; k++) {
                const std::string text = text_of(t.type, values[order[k]]) + ':' + std::to_string(order[k]);
                const auto length = static_cast<std::uint32_t>(text.size());
                const auto *bytes = reinterpret_cast<const std::byte *>(text.data());
                texts.insert(texts.end(), reinterpret_cast<const std::byte *>(&length),
                             reinterpret_cast<const std::byte *>(&length) + sizeof length);
                texts.insert(texts.end(), bytes, bytes + text.size());
            }
        }
        places[i].second = texts.size() - places[i].first;
        j.output_dims[i] = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(count)};
        if (!m.is_batching())
            j.output_dims[i].erase(j.output_dims[i].begin());
    }
    j.class_texts = std::move(texts);
    for (std::size_t i = 0; i < j.classes.size(); i++)
        if (j.classes[i] > 0)
            j.outputs[i] = {j.class_texts.data() + places[i].first, places[i].second};
}

const char *datatype_of_output(const served_model &m, const job &j, std::size_t i) {
    return i < j.classes.size() && j.classes[i] > 0 ? "BYTES" : protocol_name(m.outputs()[j.wanted[i]].type);
}

std::vector<std::string> texts_of(const byte_range &bytes) {
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < bytes.size;) {
        std::uint32_t length = 0;
        std::memcpy(&length, bytes.data + at, sizeof length);
        texts.emplace_back(reinterpret_cast<const char *>(bytes.data + at + sizeof length), length);
        at += sizeof length + length;
    }
    return texts;
}

} // namespace octet::serve
