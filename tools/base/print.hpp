#pragma once // SPDX-License-Identifier: Apache-2.0

// Text that several subcommands print.

#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::tools {

/// "automatic, none, f32, …"
std::string rule_names();
/// "ref, avx2, avx_vnni"
std::string isa_names(const std::vector<cpu_isa> &levels);
/// "a, b, c"
std::string list_text(const std::vector<std::string> &words);

/// The text with control characters replaced and its length bounded: fit for one line, whatever a file or an
/// argument holds.
std::string one_line(const std::string &text, std::size_t longest = 400);

/// "32 KiB", "1.4 MiB"
std::string bytes_text(std::size_t bytes);

/// Whether what is written there may have colours: a terminal that has them, and https://no-color.org is not asked for.
bool takes_colour(int file);

enum class ink { strong, good, bad };
/// The text in a colour where `file`, a descriptor like STDOUT_FILENO, takes one.
std::string inked(const std::string &text, ink colour, int file);

constexpr std::size_t widest_line = 110;

/// The text in lines of at most `width` characters, which end between words; a longer word has a line of its own.
std::vector<std::string> wrapped(const std::string &text, std::size_t width);

/// Rows under headers, for standard output; columns as wide as their widest cell, numbers to the right. Where a line
/// would be wider than `widest_line`, a last column of text goes on below itself.
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
    std::vector<std::size_t> widths() const;

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `value` with `digits` digits after the point.
std::string fixed(double value, int digits);

/// A line on stderr that says what is running, for a person who waits; nothing where stderr is no terminal.
class progress_line {
public:
    progress_line();
    ~progress_line() { show(""); }
    progress_line(const progress_line &) = delete;
    progress_line &operator=(const progress_line &) = delete;

    void show(const std::string &text) const; ///< instead of what was there

private:
    bool is_terminal_;
};

} // namespace octet::tools
