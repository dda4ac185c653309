// Each access adds its key to the place that a complaint names.
// SPDX-License-Identifier: Apache-2.0
#include "check/json_value.hpp"

#include <cstdlib>

#include "base/print.hpp"

namespace octet::vectors {
namespace {

/// strtof and strtod, by type.
template <typename T> T parse_float(const char *text, char **end);
template <> float parse_float(const char *text, char **end) { return std::strtof(text, end); }
template <> double parse_float(const char *text, char **end) { return std::strtod(text, end); }

template <typename T> T number(const json_value &at, const nlohmann::json &value) {
    if (value.is_number())
        return value.get<T>();
    if (!value.is_string())
        at.fail("must be a number or the text of one, but is " + std::string(value.type_name()));
    const std::string &text = value.get_ref<const std::string &>();
    char *end = nullptr;
    const T parsed = parse_float<T>(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size())
        at.fail("is not a number: '" + text + "'");
    return parsed;
}

} // namespace

void json_value::fail(const std::string &complaint) const {
    throw malformed_file(tools::one_line(place_.empty() ? complaint : place_ + " " + complaint));
}

bool json_value::has(const char *key) const {
    if (!value_.is_object())
        fail("must be an object, but is " + std::string(value_.type_name()));
    const auto member = value_.find(key);
    return member != value_.end() && !member->is_null();
}

json_value json_value::operator[](const char *key) const {
    if (!has(key))
        fail("has no '" + std::string(key) + "'");
    return {*value_.find(key), place_.empty() ? key : place_ + "." + key};
}

std::vector<json_value> json_value::items() const {
    if (!value_.is_array())
        fail("must be an array, but is " + std::string(value_.type_name()));
    std::vector<json_value> items;
    for (std::size_t i = 0; i < value_.size(); i++)
        items.emplace_back(value_[i], place_ + "[" + std::to_string(i) + "]");
    return items;
}

std::vector<std::string> json_value::keys() const {
    if (!value_.is_object())
        fail("must be an object, but is " + std::string(value_.type_name()));
    std::vector<std::string> keys;
    for (const auto &member : value_.items())
        keys.push_back(member.key());
    return keys;
}

std::string json_value::text() const {
    if (!value_.is_string())
        fail("must be a text, but is " + std::string(value_.type_name()));
    return value_.get<std::string>();
}

bool json_value::boolean() const {
    if (!value_.is_boolean())
        fail("must be true or false, but is " + std::string(value_.type_name()));
    return value_.get<bool>();
}

std::int64_t json_value::integer(std::int64_t lowest, std::int64_t highest) const {
    if (!value_.is_number_integer())
        fail("must be an integer, but is " + value_.dump());
    const bool fits_64_bits =
        !value_.is_number_unsigned() || value_.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    const std::int64_t integer = fits_64_bits ? value_.get<std::int64_t>() : 0;
    if (!fits_64_bits || integer < lowest || integer > highest)
        fail("is " + value_.dump() + ", allowed: " + std::to_string(lowest) + " to " +
             std::to_string(highest));
    return integer;
}

float json_value::f32() const { return number<float>(*this, value_); }
double json_value::f64() const { return number<double>(*this, value_); }

} // namespace octet::vectors
