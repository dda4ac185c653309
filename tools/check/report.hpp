#pragma once // SPDX-License-Identifier: Apache-2.0

// The report of a replay: one line per failed case at once, then a table per operator and the totals.

#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace octet::vectors {

class report {
public:
    /// Verbose: passed and skipped cases get a line too. Progress goes to `progress`, where not null.
    /// Cases of other operators are left out where `only` is not empty.
    /// With an object, that gets everything (doc/command.md has its keys) and `out` nothing.
    report(std::ostream &out, std::string only, bool verbose, std::ostream *progress, tools::json *object)
        : out_(out), only_(std::move(only)), verbose_(verbose), progress_(progress), object_(object) {}

    /// True if cases of this operator are to be replayed.
    bool wants(const std::string &op);

    void begin(const std::string &case_name); ///< shows the case that runs now to a person who waits
    void pass(const std::string &op, const std::string &case_name, const std::string &how);
    void fail(const std::string &op, const std::string &case_name, const std::string &reason);
    void skip(const std::string &op, const std::string &case_name, const std::string &reason);
    /// Passed if there is no complaint, else failed.
    void judge(const std::string &op, const std::string &case_name, const std::string &complaint,
               const std::string &how);
    void note(const std::string &line); ///< printed between the table and the totals

    /// Prints the table and, as the last line, "N passed, N failed[, N skipped]". True if nothing failed.
    /// Throws octet::error if the filter has let nothing through.
    bool finish(const std::string &row_title);

private:
    struct row {
        std::string name;
        int passed = 0, failed = 0, skipped = 0;
        std::map<std::string, int> skip_reasons;
    };
    row &row_of(const std::string &text);
    int terminal() const;
    void print(const std::string &outcome, const std::string &case_name, const std::string &how);
    void print_table(const std::string &row_title, const row &total) const;
    tools::json to_json(const row &total) const;

    std::ostream &out_;
    std::string only_;
    std::set<std::string> unwanted_;
    bool verbose_;
    std::ostream *progress_;
    tools::json *object_;
    tools::json cases_ = tools::json::array(); ///< where there is an object: {"case", "outcome", "reason"}
    std::vector<row> rows_;                    ///< in order of appearance
    std::vector<std::string> notes_;
};

} // namespace octet::vectors
