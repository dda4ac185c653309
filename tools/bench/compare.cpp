// From two files to pairs of rows, and what chance alone can make of them.
// SPDX-License-Identifier: Apache-2.0
#include "bench/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/print.hpp"
#include "base/statistics.hpp"
#include "octet/error.hpp"

namespace octet::tools {
namespace {

[[noreturn]] void refuse(const std::string &complaint) {
    throw error(status::invalid_arguments, one_line(complaint));
}

/// Fields between commas; in quotes a comma is text, and two quotes are one.
std::vector<std::string> fields_of(const std::string &line) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < line.size(); i++) {
        const bool is_pair = is_quoted && line.compare(i, 2, "\"\"") == 0;
        if (is_pair)
            fields.back() += line[i++];
        else if (line[i] == '"')
            is_quoted = !is_quoted;
        else if (line[i] == ',' && !is_quoted)
            fields.emplace_back();
        else if (line[i] != '\r')
            fields.back() += line[i];
    }
    return fields;
}

const std::vector<std::string> key_columns = {"table", "name", "threads", "caches"};

/// All that a file says of one row.
struct row_times {
    std::vector<std::string> key; ///< values of `key_columns`
    std::vector<double> times;
    double low = 0, high = 0; ///< the only time
};

/// The interval in which the median of a row lies.
struct estimate {
    double median, low, high;
};

estimate estimate_of(const row_times &row) {
    if (row.times.size() == 1)
        return {row.times[0], row.low, row.high};
    const time_summary all = summarize(row.times);
    return {all.median, all.low, all.high};
}

/// Rows in the order of the file, each once.
class file_rows {
public:
    file_rows(const csv_table &file, const std::vector<std::string> &columns, const std::string &by) {
        for (std::size_t i = 0; i < file.size(); i++)
            if (!file.text(i, by).empty())
                add(file, columns, by, i);
    }

    const std::vector<row_times> &rows() const { return rows_; }
    const row_times *find(const std::vector<std::string> &key) const {
        const auto found = places_.find(key);
        return found == places_.end() ? nullptr : &rows_[found->second];
    }

private:
    void add(const csv_table &file, const std::vector<std::string> &columns, const std::string &by,
             std::size_t line) {
        std::vector<std::string> key;
        for (const std::string &column : columns)
            key.push_back(file.text(line, column));
        const auto [place, is_new] = places_.emplace(key, rows_.size());
        if (is_new)
            rows_.push_back({key, {}, 0, 0});
        row_times &row = rows_[place->second];
        const double value = file.number(line, by);
        row.times.push_back(by == "microseconds" ? value : 1 / value);
        const double scale =
            file.has("microseconds") ? row.times.back() / file.number(line, "microseconds") : 0;
        const auto bound = [&](const char *name, const char *older) {
            for (const char *column : {name, older})
                if (scale > 0 && !file.text(line, column).empty())
                    return scale * file.number(line, column);
            return row.times.back();
        };
        row.low = bound("microseconds_low", "microseconds_min");
        row.high = bound("microseconds_high", "microseconds_p90");
    }

    std::vector<row_times> rows_;
    std::map<std::vector<std::string>, std::size_t> places_;
};

std::string name_of(const std::vector<std::string> &key) {
    std::string name;
    for (const std::string &part : key)
        name += (name.empty() || part.empty() ? "" : " ") + part;
    return name;
}

/// Throws if a column that only one file has tells its rows apart: pairs would be arbitrary.
void require_one_value(const csv_table &file, const std::string &column, const csv_table &other) {
    for (std::size_t i = 1; i < file.size(); i++)
        if (file.text(i, column) != file.text(0, column))
            refuse(file.name() + ": its rows differ in '" + column + "', which " + other.name() +
                   " does not tell: keep one of them");
}

} // namespace

csv_table::csv_table(std::string name, const std::string &text) : name_(std::move(name)) {
    std::istringstream in(text);
    std::string line;
    std::getline(in, line);
    columns_ = fields_of(line);
    if (!has("name"))
        refuse(name_ + ":1: the first line names the columns, and one of them is 'name'");
    for (std::size_t number = 2; std::getline(in, line); number++) {
        if (line.empty())
            continue;
        rows_.push_back(fields_of(line));
        if (rows_.back().size() != columns_.size())
            refuse(name_ + ":" + std::to_string(number) + ": " + std::to_string(rows_.back().size()) +
                   " fields, the header has " + std::to_string(columns_.size()));
    }
    if (rows_.empty())
        refuse(name_ + ":1: no rows follow the header");
}

bool csv_table::has(const std::string &column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::string csv_table::text(std::size_t row, const std::string &column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? "" : rows_.at(row)[static_cast<std::size_t>(found - columns_.begin())];
}

double csv_table::number(std::size_t row, const std::string &column) const {
    const std::string given = text(row, column);
    double value = 0;
    const auto [stop, failure] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (failure != std::errc() || stop != given.data() + given.size() || !(value > 0) ||
        !std::isfinite(value))
        refuse(name_ + ": row '" + text(row, "name") + "': " + column + " is '" + given +
               "', allowed: numbers above 0");
    return value;
}

double comparison::geomean() const {
    double logs = 0;
    for (const compared_row &row : rows)
        logs += std::log(row.ratio());
    return std::exp(logs / static_cast<double>(rows.size()));
}

int comparison::count(int verdict) const {
    return static_cast<int>(
        std::count_if(rows.begin(), rows.end(), [&](const compared_row &r) { return r.verdict == verdict; }));
}
int comparison::faster() const {
    return static_cast<int>(
        std::count_if(rows.begin(), rows.end(), [](const compared_row &r) { return r.after < r.before; }));
}
int comparison::slower() const {
    return static_cast<int>(
        std::count_if(rows.begin(), rows.end(), [](const compared_row &r) { return r.after > r.before; }));
}
double comparison::p() const { return sign_test(faster(), slower()); }

bool comparison::is_slower() const {
    constexpr double significant = 0.05;
    return count(-1) > 0 || (slower() > faster() && p() < significant && geomean() * (1 + tolerance) < 1);
}

comparison compare(const csv_table &before, const csv_table &after, double tolerance, const std::string &by) {
    comparison c;
    c.tolerance = tolerance;
    const bool have_times = before.has("microseconds") && after.has("microseconds");
    c.by = !by.empty() ? by : have_times ? "microseconds" : "share_of_peak";
    for (const csv_table *file : {&before, &after})
        if (!file->has(c.by))
            refuse(file->name() + ": has no column '" + c.by + "'");
    std::vector<std::string> columns;
    for (const std::string &column : key_columns) {
        if (before.has(column) && after.has(column))
            columns.push_back(column);
        else if (before.has(column))
            require_one_value(before, column, after);
        else if (after.has(column))
            require_one_value(after, column, before);
    }
    const file_rows old_rows(before, columns, c.by), new_rows(after, columns, c.by);
    for (const row_times &old_row : old_rows.rows()) {
        const row_times *new_row = new_rows.find(old_row.key);
        if (!new_row) {
            c.only_old.push_back(name_of(old_row.key));
            continue;
        }
        compared_row row;
        std::string compared_row::*const parts[] = {&compared_row::table, &compared_row::name,
                                                    &compared_row::threads, &compared_row::caches};
        for (std::size_t i = 0; i < columns.size(); i++) {
            const auto part = std::find(key_columns.begin(), key_columns.end(), columns[i]);
            row.*parts[part - key_columns.begin()] = old_row.key[i];
        }
        const estimate was = estimate_of(old_row), is = estimate_of(*new_row);
        row.before = was.median;
        row.after = is.median;
        if (is.high < was.low && row.ratio() > 1 + tolerance)
            row.verdict = 1;
        else if (is.low > was.high && 1 / row.ratio() > 1 + tolerance)
            row.verdict = -1;
        c.rows.push_back(row);
    }
    for (const row_times &row : new_rows.rows())
        if (!old_rows.find(row.key))
            c.only_new.push_back(name_of(row.key));
    if (c.rows.empty())
        refuse(before.name() + " and " + after.name() + ": no row of the one is in the other");
    return c;
}

namespace {

std::string verdict_text(int verdict) { return verdict > 0 ? "faster" : verdict < 0 ? "slower" : ""; }

/// As text has it: microseconds, or the share itself.
std::string time_text(const comparison &c, double time) {
    return c.by == "microseconds" ? fixed(time, 2) : fixed(100 / time, 1) + " %";
}

std::string rows_text(const char *which, const std::vector<std::string> &names) {
    return names.empty()
               ? ""
               : std::to_string(names.size()) + " rows " + which + ": " + one_line(list_text(names)) + '\n';
}

} // namespace

std::string comparison_text(const comparison &c) {
    const bool is_time = c.by == "microseconds";
    table t({{"row"},
             {is_time ? "before us" : "before", table::align::right},
             {is_time ? "after us" : "after", table::align::right},
             {"ratio", table::align::right},
             {"beyond noise"}});
    for (const compared_row &row : c.rows)
        t.add({name_of({row.table, row.name, row.threads.empty() ? "" : row.threads + "T", row.caches}),
               time_text(c, row.before), time_text(c, row.after), fixed(row.ratio(), 3),
               verdict_text(row.verdict)});
    std::ostringstream p;
    p.precision(3);
    p << c.p();
    return t.text() + rows_text("only before", c.only_old) + rows_text("only after", c.only_new) +
           "geomean " + fixed(c.geomean(), 3) + " (above 1: faster than before) of " +
           std::to_string(c.rows.size()) + " rows; faster " + std::to_string(c.faster()) + ", slower " +
           std::to_string(c.slower()) + ", sign test p " + p.str() + "; beyond noise and " +
           fixed(100 * c.tolerance, 1) + " %: faster " + std::to_string(c.count(1)) + ", slower " +
           std::to_string(c.count(-1)) + '\n';
}

json to_json(const comparison &c) {
    const bool is_time = c.by == "microseconds";
    const auto text_or_null = [](const std::string &text) { return text.empty() ? json() : json(text); };
    json rows = json::array();
    for (const compared_row &row : c.rows)
        rows.push_back({{"table", text_or_null(row.table)},
                        {"name", row.name},
                        {"threads", row.threads.empty() ? json() : json(std::atoi(row.threads.c_str()))},
                        {"caches", text_or_null(row.caches)},
                        {"before", is_time ? row.before : 1 / row.before},
                        {"after", is_time ? row.after : 1 / row.after},
                        {"ratio", row.ratio()},
                        {"beyond_noise", text_or_null(verdict_text(row.verdict))}});
    return {{"by", c.by},
            {"rows", rows},
            {"only_before", c.only_old},
            {"only_after", c.only_new},
            {"geomean", c.geomean()},
            {"faster", c.faster()},
            {"slower", c.slower()},
            {"p", c.p()},
            {"tolerance", c.tolerance},
            {"faster_beyond_noise", c.count(1)},
            {"slower_beyond_noise", c.count(-1)},
            {"is_slower", c.is_slower()}};
}

} // namespace octet::tools
