#pragma once // SPDX-License-Identifier: Apache-2.0

// Reading JSON that nobody vouches for: every access checks type and range, and every complaint names the
// place, such as "cases[3].params.stride_h". All failures are malformed_file, one line each.

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "octet/error.hpp"

namespace octet::vectors {

/// The file is not what its format says, as opposed to Octet failing on it.
struct malformed_file : error {
    explicit malformed_file(const std::string &text) : error(status::invalid_arguments, text) {}
};

/// A value inside a parsed file, which must outlive it.
class json_value {
public:
    json_value(const nlohmann::json &value, std::string place) : value_(value), place_(std::move(place)) {}

    const std::string &place() const { return place_; }
    bool is_object() const { return value_.is_object(); }
    bool is_array() const { return value_.is_array(); }
    bool is_number() const { return value_.is_number(); }

    /// Present and not null.
    bool has(const char *key) const;
    /// Member of an object; an absent one is an error.
    json_value operator[](const char *key) const;
    /// All members of an array.
    std::vector<json_value> items() const;
    /// All keys of an object.
    std::vector<std::string> keys() const;

    std::string text() const;
    bool boolean() const;
    std::int64_t integer(std::int64_t lowest, std::int64_t highest) const;
    /// A number, or the text of one; C99 hex floats are exact.
    float f32() const;
    double f64() const;

    template <typename T> T as() const {
        if constexpr (std::is_same_v<T, bool>)
            return boolean();
        else if constexpr (std::is_same_v<T, float>)
            return f32();
        else if constexpr (std::is_same_v<T, double>)
            return f64();
        else if constexpr (std::is_same_v<T, std::string>)
            return text();
        else
            return static_cast<T>(integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    /// An array of such values, or one value: frameworks write both for "one per tensor".
    template <typename T> std::vector<T> list() const {
        if (!is_array())
            return {as<T>()};
        std::vector<T> values;
        for (const json_value &item : items())
            values.push_back(item.as<T>());
        return values;
    }

    /// Throws "<place> <complaint>".
    [[noreturn]] void fail(const std::string &complaint) const;

private:
    const nlohmann::json &value_;
    std::string place_;
};

} // namespace octet::vectors
