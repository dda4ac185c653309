#include "bench/layer.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace octet::tools {

namespace {

std::vector<std::string> fields_of(const std::string &line) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');)
        fields.push_back(field.substr(0, field.find('\r')));
    return fields;
}

[[noreturn]] void fail(const std::string &path, std::size_t line, const std::string &what) {
    throw error(status::invalid_arguments, path + ":" + std::to_string(line) + ": " + what);
}

const std::map<std::string, std::int64_t layer::*> columns = {
    {"mb", &layer::mb}, {"g", &layer::g},   {"ic", &layer::ic}, {"ih", &layer::ih}, {"iw", &layer::iw},
    {"oc", &layer::oc}, {"oh", &layer::oh}, {"ow", &layer::ow}, {"kh", &layer::kh}, {"kw", &layer::kw},
    {"sh", &layer::sh}, {"sw", &layer::sw}, {"ph", &layer::ph}, {"pw", &layer::pw}, {"dh", &layer::dh},
    {"dw", &layer::dw}, {"m", &layer::m},   {"n", &layer::n},   {"k", &layer::k},   {"count", &layer::count}};

std::int64_t number_of(const std::string &text, const std::string &path, std::size_t line,
                       const std::string &column) {
    std::size_t used = 0;
    long long value = -1;
    try {
        value = std::stoll(text, &used);
    } catch (const std::exception &) {
        used = std::string::npos;
    }
    if (used != text.size() || value < 0 || value > 1'000'000'000)
        fail(path, line, column + " is '" + text + "', allowed: 0 to 1000000000");
    return value;
}

} // namespace

std::vector<layer> read_layers(const std::string &path, layer_kind product_kind) {
    std::ifstream in(path);
    if (!in)
        throw error(status::invalid_arguments, path + ": cannot be read");
    std::string text;
    std::getline(in, text);
    const std::vector<std::string> header = fields_of(text);
    if (header.empty() || header[0] != "name")
        fail(path, 1, "the header must start with 'name'");
    bool has_k = false;
    for (std::size_t i = 1; i < header.size(); i++) {
        if (columns.find(header[i]) == columns.end())
            fail(path, 1, "unknown column '" + header[i] + "'");
        has_k = has_k || header[i] == "k";
    }

    std::vector<layer> layers;
    for (std::size_t line = 2; std::getline(in, text); line++) {
        const std::vector<std::string> fields = fields_of(text);
        if (fields.empty())
            continue;
        if (fields.size() != header.size())
            fail(path, line,
                 std::to_string(fields.size()) + " fields, the header has " + std::to_string(header.size()));
        layer l;
        l.kind = has_k ? product_kind : layer_kind::convolution;
        l.name = fields[0];
        for (std::size_t i = 1; i < header.size(); i++)
            l.*columns.at(header[i]) = number_of(fields[i], path, line, header[i]);
        if (l.g < 1 || l.ic % l.g != 0 || l.oc % l.g != 0)
            fail(path, line, "ic and oc must be multiples of g");
        layers.push_back(l);
    }
    return layers;
}

std::vector<float> layer_scales(const layer &l) {
    constexpr double product_deviation = 147.0 * 73.0; // of a uniform u8 times a uniform s8
    const double unit = 64 / (std::sqrt(static_cast<double>(l.reduction())) * product_deviation);
    std::vector<float> scales;
    for (std::int64_t c = 0; c < l.channels(); c++)
        scales.push_back(static_cast<float>(unit * (0.75 + 0.5 * static_cast<double>(c % 7) / 7)));
    return scales;
}

void fill_bytes(void *bytes, std::size_t size, std::uint32_t seed) {
    std::mt19937 random(seed);
    auto *to = static_cast<std::uint8_t *>(bytes);
    for (std::size_t i = 0; i < size; i++)
        to[i] = static_cast<std::uint8_t>(random());
}

} // namespace octet::tools
