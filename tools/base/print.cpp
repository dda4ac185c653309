// Words and tables; nothing here knows what they are about.
// SPDX-License-Identifier: Apache-2.0
#include "base/print.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <unistd.h>

namespace octet::tools {

std::string rule_names() {
    std::vector<std::string> names;
    for (const requantization_rule rule : all_requantization_rules())
        names.emplace_back(to_string(rule));
    return list_text(names);
}

std::string isa_names(const std::vector<cpu_isa> &levels) {
    std::vector<std::string> names;
    for (const cpu_isa level : levels)
        names.emplace_back(to_string(level));
    return list_text(names);
}

std::string list_text(const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string one_line(const std::string &text, std::size_t longest) {
    std::string line = text.substr(0, longest);
    for (char &c : line)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
            c = '?';
    return text.size() > longest ? line + "..." : line;
}

std::string bytes_text(std::size_t bytes) {
    const char *unit = "bytes";
    double value = static_cast<double>(bytes);
    for (const char *larger : {"KiB", "MiB", "GiB"}) {
        if (value < 1024)
            break;
        value /= 1024;
        unit = larger;
    }
    const bool is_whole = value == static_cast<double>(static_cast<long long>(value));
    return fixed(value, is_whole ? 0 : 1) + " " + unit;
}

std::string table::text() const {
    std::vector<std::size_t> widths;
    for (const column &c : columns_)
        widths.push_back(c.title.size());
    for (const auto &row : rows_)
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], row[i].size());

    std::string result;
    const auto append = [&](const std::vector<std::string> &row) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); i++) {
            const std::string blanks(widths[i] - row[i].size(), ' ');
            line +=
                (i == 0 ? "" : "  ") + (columns_[i].side == align::right ? blanks + row[i] : row[i] + blanks);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result += line + '\n';
    };
    std::vector<std::string> titles;
    for (const column &c : columns_)
        titles.push_back(c.title);
    append(titles);
    for (const auto &row : rows_)
        append(row);
    return result;
}

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

progress_line::progress_line() : is_terminal_(isatty(STDERR_FILENO) != 0) {}

void progress_line::show(const std::string &text) const {
    if (is_terminal_)
        std::cerr << "\r\033[K" << one_line(text) << std::flush;
}

} // namespace octet::tools
