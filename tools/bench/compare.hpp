#pragma once // SPDX-License-Identifier: Apache-2.0

// Two files of results compared row by row: of two builds, two settings or two libraries.

#include <string>
#include <vector>

#include "base/json.hpp"

namespace octet::tools {

/// Cells of a CSV file by line and column.
class csv_table {
public:
    /// Fields may stand in quotes. Throws octet::error with file and line for a line that has not as many fields as the
    /// first one, and for a file without lines behind the first.
    csv_table(std::string name, const std::string &text);

    const std::string &name() const { return name_; } ///< the file's name
    std::size_t size() const { return rows_.size(); }
    bool has(const std::string &column) const;
    /// Empty where there is no such column.
    std::string text(std::size_t row, const std::string &column) const;
    /// Throws octet::error, with the line, for anything but a positive number.
    double number(std::size_t row, const std::string &column) const;

private:
    std::string name_;
    std::vector<std::string> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// One row of both files. A time is in microseconds, or in parts of what the peak would take.
struct compared_row {
    std::string table, name, threads, caches; ///< empty where the files don't tell
    double before = 0, after = 0;             ///< times
    int verdict = 0;                          ///< beyond noise: 1 faster, -1 slower; 0 neither

    double ratio() const { return before / after; } ///< above 1: faster than before
};

struct comparison {
    std::string by;                              ///< "microseconds" or "share_of_peak"
    std::vector<compared_row> rows;              ///< in the order of the first file
    std::vector<std::string> only_old, only_new; ///< rows of one file
    double tolerance = 0;                        ///< part of 1

    double geomean() const; ///< geometric mean of the ratios
    int count(int verdict) const;
    int faster() const; ///< rows with a ratio above 1
    int slower() const; ///< rows with one below
    double p() const;   ///< `sign_test` of both
    /// A row is slower beyond its noise, or the sign test says so of all (p < 0.05) and the geometric mean is
    /// beyond the tolerance.
    bool is_slower() const;
};

/// Pairs rows by table, name, threads and caches, as far as both files have these columns. A row that occurs several
/// times (runs in one history) counts with its median. Noise: intervals of the medians that overlap, or ratios within
/// `tolerance` of 1. By the column `by`; if it is empty by microseconds where both files have them, else by
/// share_of_peak. Throws octet::error for files without a row in common, or that cannot be told apart row by row.
comparison compare(const csv_table &before, const csv_table &after, double tolerance,
                   const std::string &by = "");

std::string comparison_text(const comparison &c);
json to_json(const comparison &c);

} // namespace octet::tools
