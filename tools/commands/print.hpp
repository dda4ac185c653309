#pragma once

// Text that several subcommands print.

#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::tools {

/// Every rule, in the order of the documentation.
std::vector<requantization_rule> all_rules();
/// "automatic, none, f32, …"
std::string rule_names();

/// "32 KiB", "1.4 MiB"
std::string bytes_text(std::size_t bytes);

/// Rows under headers; columns as wide as their widest cell, numbers to the right.
class table {
public:
    enum class align { left, right };
    struct column {
        std::string title;
        align side = align::left;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    std::string text() const;

private:
    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `value` with `digits` digits after the point.
std::string fixed(double value, int digits);

} // namespace octet::tools
