// Other datatypes of outputs, and sorting their elements.
// SPDX-License-Identifier: Apache-2.0
#include "core/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/datatypes.hpp"

namespace octet::serve {
namespace {

void append_text(std::vector<std::byte> &texts, const std::string &text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::size_t at = texts.size();
    texts.resize(at + sizeof length + text.size());
    std::memcpy(texts.data() + at, &length, sizeof length);
    std::memcpy(texts.data() + at + sizeof length, text.data(), text.size());
}

std::vector<std::byte> classes_of(std::vector<double> numbers, const datatype &d, std::size_t rows,
                                  std::size_t count) {
    const bool is_whole = d.kind != element::f32 && d.kind != element::f16 && d.kind != element::bf16;
    std::replace_if(
        numbers.begin(), numbers.end(), [](double v) { return std::isnan(v); }, -HUGE_VAL);
    const std::size_t size = numbers.size() / rows;
    std::vector<std::byte> texts;
    std::vector<std::size_t> order(size);
    for (const double *values = numbers.data(); rows > 0; rows--, values += size) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto is_before = [&](auto a, auto b) {
            return values[a] > values[b] || (values[a] == values[b] && a < b);
        };
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                          is_before);
        for (std::size_t k = 0; k < count; k++) {
            const double v = values[order[k]];
            append_text(texts, (is_whole ? std::to_string(static_cast<std::int64_t>(v)) : std::to_string(v)) +
                                   ':' + std::to_string(order[k]));
        }
    }
    return texts;
}

} // namespace

void present(const served_model &m, job &j) {
    for (std::size_t i = 0; i < j.wanted.size(); i++) {
        const wanted_output &w = j.wanted[i];
        const tensor_info &t = m.outputs()[w.index];
        const auto use = [&](std::vector<std::byte> &&made) {
            if (j.reply_held && !j.reply_held->grow(made.size()))
                throw refusal(outcome::overloaded, "replies fill the memory for requests");
            j.presented.push_back(std::move(made));
            j.outputs[i] = {j.presented.back().data(), j.presented.back().size()};
        };
        if (w.type->kind != t.own->kind)
            use(from_network(t, *w.type, j.outputs[i]));
        if (w.classes == 0)
            continue;
        const auto rows = static_cast<std::size_t>(m.is_batching() ? j.rows : 1);
        std::vector<double> numbers = to_numbers(*w.type, j.outputs[i]);
        const auto count = std::min(numbers.size() / rows, static_cast<std::size_t>(w.classes));
        use(classes_of(std::move(numbers), *w.type, rows, count));
        j.output_dims[i] = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(count)};
        if (!m.is_batching())
            j.output_dims[i].erase(j.output_dims[i].begin());
    }
}

const char *name_of_datatype(const wanted_output &w) { return w.classes > 0 ? "BYTES" : w.type->name; }

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
