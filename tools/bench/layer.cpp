// Shape tables: a header that says what the columns mean, then one layer per line. Start reading at
// table_reader::read.
// SPDX-License-Identifier: Apache-2.0
#include "bench/layer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <sstream>

#include "base/files.hpp"
#include "base/print.hpp"
#include "bench/roofline.hpp"

namespace octet::tools {

namespace {

std::vector<std::string> fields_of(const std::string &line) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');)
        fields.push_back(field.substr(0, field.find('\r')));
    return fields;
}

struct column {
    const char *name;
    std::int64_t layer::*value;
    std::int64_t lowest;
    bool is_required;
};

constexpr column convolution_columns[] = {
    {"mb", &layer::mb, 1, false}, {"g", &layer::g, 1, false},        {"ic", &layer::ic, 1, true},
    {"ih", &layer::ih, 1, true},  {"iw", &layer::iw, 1, true},       {"oc", &layer::oc, 1, true},
    {"oh", &layer::oh, 1, true},  {"ow", &layer::ow, 1, true},       {"kh", &layer::kh, 1, true},
    {"kw", &layer::kw, 1, true},  {"sh", &layer::sh, 1, false},      {"sw", &layer::sw, 1, false},
    {"ph", &layer::ph, 0, false}, {"pw", &layer::pw, 0, false},      {"dh", &layer::dh, 0, false},
    {"dw", &layer::dw, 0, false}, {"count", &layer::count, 1, false}};
constexpr column product_columns[] = {{"m", &layer::m, 1, true},
                                      {"n", &layer::n, 1, true},
                                      {"k", &layer::k, 1, true},
                                      {"count", &layer::count, 1, false}};
constexpr std::int64_t largest = 1'000'000'000;

/// A table while it is read: the header decides what the numbers of a line mean.
class table_reader {
public:
    table_reader(std::string path, layer_kind product_kind) : path_(std::move(path)), kind_(product_kind) {}

    std::vector<layer> read() {
        const std::vector<std::uint8_t> bytes = read_file(path_);
        std::istringstream in(std::string(bytes.begin(), bytes.end()));
        std::string text;
        std::getline(in, text);
        read_header(fields_of(text));
        std::vector<layer> layers;
        while (std::getline(in, text)) {
            line_++;
            const std::vector<std::string> fields = fields_of(text);
            if (!fields.empty())
                layers.push_back(read_layer(fields));
        }
        if (layers.empty())
            fail("no layers follow the header");
        return layers;
    }

private:
    [[noreturn]] void fail(const std::string &complaint) const {
        throw error(status::invalid_arguments,
                    one_line(path_ + ":" + std::to_string(line_) + ": " + complaint));
    }

    void read_header(const std::vector<std::string> &header) {
        if (header.empty() || header[0] != "name")
            fail("the first line names the columns and starts with 'name' (octet bench --help)");
        const bool has_k = std::find(header.begin(), header.end(), "k") != header.end();
        if (has_k)
            set_columns(header, product_columns);
        else
            set_columns(header, convolution_columns);
        kind_ = has_k ? kind_ : layer_kind::convolution;
    }

    template <std::size_t N>
    void set_columns(const std::vector<std::string> &header, const column (&known)[N]) {
        for (auto name = header.begin() + 1; name != header.end(); ++name) {
            const auto *found =
                std::find_if(known, known + N, [&](const column &c) { return *name == c.name; });
            if (found == known + N)
                fail("unknown column '" + *name + "'");
            if (std::find(header.begin(), name, *name) != name)
                fail("two columns '" + *name + "'");
            columns_.push_back(*found);
        }
        for (const column &c : known)
            if (c.is_required && std::find(header.begin(), header.end(), c.name) == header.end())
                fail(std::string("no column '") + c.name + "'");
    }

    layer read_layer(const std::vector<std::string> &fields) const {
        if (fields.size() != columns_.size() + 1)
            fail(std::to_string(fields.size()) + " fields, the header has " +
                 std::to_string(columns_.size() + 1));
        layer l;
        l.kind = kind_;
        l.name = fields[0];
        for (std::size_t i = 0; i < columns_.size(); i++)
            l.*columns_[i].value = number(fields[i + 1], columns_[i]);
        if (l.ic % l.g != 0 || l.oc % l.g != 0)
            fail("ic and oc must be multiples of g");
        return l;
    }

    std::int64_t number(const std::string &text, const column &c) const {
        std::int64_t value = 0;
        const char *end = text.data() + text.size();
        const auto [stop, failure] = std::from_chars(text.data(), end, value);
        if (stop != end || failure != std::errc() || value < c.lowest || value > largest)
            fail(std::string(c.name) + " is '" + text + "', allowed: " + std::to_string(c.lowest) + " to " +
                 std::to_string(largest));
        return value;
    }

    std::string path_;
    layer_kind kind_;
    std::size_t line_ = 1;
    std::vector<column> columns_; ///< all fields but the first
};

} // namespace

std::vector<layer> read_layers(const std::string &path, layer_kind product_kind) {
    return table_reader(path, product_kind).read();
}

std::int64_t layer::needed_source() const {
    if (kind != layer_kind::convolution)
        return m * k;
    return mb * ic * needed_positions(ih, oh, kh) * needed_positions(iw, ow, kw);
}

std::int64_t layer::destination() const {
    return kind == layer_kind::convolution ? mb * oc * oh * ow : m * n;
}

double layer::elements() const {
    const auto size = [](std::initializer_list<std::int64_t> dims) {
        double product = 1;
        for (const std::int64_t d : dims)
            product *= static_cast<double>(d);
        return product;
    };
    if (kind != layer_kind::convolution)
        return size({m, k}) + size({k, n}) + size({m, n});
    return size({mb, ic, ih, iw}) + size({mb, oc, oh, ow}) + size({oc, ic / g, kh, kw});
}

std::vector<float> layer_scales(const layer &l) {
    constexpr double product_deviation = 147.0 * 73.0; // deviation of a uniform u8 times a uniform s8
    const double unit = 64 / (std::sqrt(static_cast<double>(l.reduction())) * product_deviation);
    std::vector<float> scales;
    for (std::int64_t c = 0; c < l.channels(); c++)
        scales.push_back(static_cast<float>(unit * (0.75 + 0.5 * static_cast<double>(c % 7) / 7)));
    return scales;
}

void fill(void *values, data_type type, std::size_t bytes, std::uint32_t seed) {
    std::mt19937 random(seed);
    if (type == data_type::f32) { // any bits could be NaN, or too small to be normal
        auto *to = static_cast<float *>(values);
        for (std::size_t i = 0; i < bytes / sizeof(float); i++)
            to[i] = static_cast<float>(static_cast<std::int32_t>(random() % 255) - 127) / 128;
        return;
    }
    auto *to = static_cast<std::uint8_t *>(values);
    for (std::size_t i = 0; i < bytes; i++)
        to[i] = static_cast<std::uint8_t>(random());
}

} // namespace octet::tools
