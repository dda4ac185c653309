// Words and tables; nothing here knows what they are about.
// SPDX-License-Identifier: Apache-2.0
#include "base/print.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

bool takes_colour(int file) {
    const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
    return isatty(file) != 0 && !(refused && *refused) && terminal && std::strcmp(terminal, "dumb") != 0;
}

std::string inked(const std::string &text, ink colour, int file) {
    const char *code = colour == ink::strong ? "1" : colour == ink::good ? "32" : "31";
    return takes_colour(file) ? std::string("\033[") + code + 'm' + text + "\033[0m" : text;
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

std::vector<std::string> wrapped(const std::string &text, std::size_t width) {
    std::vector<std::string> lines;
    std::string rest = text;
    while (rest.size() > width) {
        std::size_t end = rest.rfind(' ', width);
        if (end == std::string::npos || end == 0)
            end = rest.find(' ', width);
        if (end == std::string::npos)
            break;
        lines.push_back(rest.substr(0, end));
        rest.erase(0, end + 1);
    }
    lines.push_back(rest);
    return lines;
}

std::vector<std::size_t> table::widths() const {
    std::vector<std::size_t> result;
    for (const column &c : columns_)
        result.push_back(c.title.size());
    for (const auto &row : rows_)
        for (std::size_t i = 0; i < row.size(); i++)
            result[i] = std::max(result[i], row[i].size());
    return result;
}

std::string table::text() const {
    constexpr std::size_t narrowest = 30; // of a column that goes on below itself
    std::vector<std::size_t> room = widths();
    std::size_t indent = 0; // of the last column
    for (std::size_t i = 0; i + 1 < room.size(); i++)
        indent += room[i] + 2;
    if (columns_.back().side == align::left)
        room.back() = std::min(room.back(), std::max(narrowest, widest_line - std::min(widest_line, indent)));

    std::string result;
    const auto append = [&](const std::vector<std::string> &row) {
        std::string line;
        for (std::size_t i = 0; i + 1 < row.size(); i++) {
            const std::string blanks(room[i] - row[i].size(), ' ');
            line += (columns_[i].side == align::right ? blanks + row[i] : row[i] + blanks) + "  ";
        }
        for (const std::string &part : wrapped(row.back(), room.back())) {
            const bool is_right = columns_.back().side == align::right;
            line += is_right ? std::string(room.back() - part.size(), ' ') + part : part;
            line.erase(line.find_last_not_of(' ') + 1);
            result += line + '\n';
            line.assign(indent, ' ');
        }
    };
    std::vector<std::string> titles;
    for (const column &c : columns_)
        titles.push_back(c.title);
    append(titles);
    result.pop_back(); // the end of the line stays plain
    result = inked(result, ink::strong, STDOUT_FILENO) + '\n';
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
