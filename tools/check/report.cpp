// Counts by operator while cases are judged, and prints the table at the end.
// SPDX-License-Identifier: Apache-2.0
#include "check/report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <ostream>

#include <unistd.h>

#include "base/print.hpp"
#include "octet/error.hpp"

namespace octet::vectors {
namespace {

const char *const clear_line = "\r\033[K";

} // namespace

/// Text that is no part of standard output, as a test's, stays plain.
int report::terminal() const { return &out_ == &std::cout ? STDOUT_FILENO : -1; }

report::row &report::row_of(const std::string &text) {
    const std::string name = tools::one_line(text);
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const row &r) { return r.name == name; });
    if (known != rows_.end())
        return *known;
    rows_.push_back({name, 0, 0, 0, {}});
    return rows_.back();
}

void report::print(const std::string &outcome, const std::string &case_name, const std::string &how) {
    if (progress_)
        *progress_ << clear_line << std::flush;
    if (object_)
        cases_.push_back({{"case", case_name}, {"outcome", outcome}, {"reason", how}});
    else
        out_ << outcome << ' ' << tools::one_line(case_name + ": " + how) << '\n';
}

bool report::wants(const std::string &op) {
    if (only_.empty() || op == only_)
        return true;
    unwanted_.insert(op);
    return false;
}

void report::begin(const std::string &case_name) {
    if (progress_)
        *progress_ << clear_line << tools::one_line(case_name) << std::flush;
}

void report::pass(const std::string &op, const std::string &case_name, const std::string &how) {
    row_of(op).passed++;
    if (verbose_)
        print("pass", case_name, how);
}

void report::fail(const std::string &op, const std::string &case_name, const std::string &reason) {
    row_of(op).failed++;
    print(object_ ? "FAIL" : tools::inked("FAIL", tools::ink::bad, terminal()), case_name, reason);
}

void report::skip(const std::string &op, const std::string &case_name, const std::string &reason) {
    row &r = row_of(op);
    r.skipped++;
    r.skip_reasons[reason]++;
    if (verbose_)
        print("skip", case_name, reason);
}

void report::judge(const std::string &op, const std::string &case_name, const std::string &complaint,
                   const std::string &how) {
    if (complaint.empty())
        pass(op, case_name, how);
    else
        fail(op, case_name, complaint);
}

void report::note(const std::string &line) { notes_.push_back(line); }

bool report::finish(const std::string &row_title) {
    if (rows_.empty() && !unwanted_.empty()) {
        std::string names;
        for (const std::string &name : unwanted_)
            names += (names.empty() ? "" : ", ") + name;
        throw error(status::invalid_arguments,
                    tools::one_line("--op: the file has no '" + only_ + "', but " + names));
    }
    if (progress_)
        *progress_ << clear_line << std::flush;
    row total;
    for (const row &r : rows_) {
        total.passed += r.passed;
        total.failed += r.failed;
        total.skipped += r.skipped;
    }
    if (object_)
        *object_ = to_json(total);
    else
        print_table(row_title, total);
    return total.failed == 0;
}

void report::print_table(const std::string &row_title, const row &total) const {
    std::size_t width = row_title.size();
    for (const row &r : rows_)
        width = std::max(width, r.name.size());
    const auto cell = [](int count) { return std::to_string(count); };
    const auto line = [&](const std::string &name, const std::string &passed, const std::string &failed,
                          const std::string &skipped) {
        out_ << std::left << std::setw(static_cast<int>(width)) << tools::one_line(name) << std::right
             << std::setw(8) << passed << std::setw(8) << failed << std::setw(9) << skipped;
    };
    line(row_title, "passed", "failed", "skipped");
    for (const row &r : rows_) {
        out_ << '\n';
        line(r.name, cell(r.passed), cell(r.failed), cell(r.skipped));
        const char *separator = "  ";
        for (const auto &[reason, count] : r.skip_reasons) {
            out_ << separator << (r.skip_reasons.size() > 1 ? std::to_string(count) + "x " : "")
                 << tools::one_line(reason);
            separator = "; ";
        }
    }
    out_ << '\n';
    for (const std::string &n : notes_)
        out_ << tools::one_line(n) << '\n';
    const auto verdict = total.failed == 0 ? tools::ink::good : tools::ink::bad;
    out_ << tools::inked(cell(total.passed) + " passed, " + cell(total.failed) + " failed", verdict,
                         terminal());
    if (total.skipped > 0)
        out_ << ", " << total.skipped << " skipped";
    out_ << std::endl;
}

tools::json report::to_json(const row &total) const {
    tools::json object = {{"passed", total.passed},   {"failed", total.failed},
                          {"skipped", total.skipped}, {"rows", tools::json::array()},
                          {"cases", cases_},          {"notes", notes_}};
    for (const row &r : rows_)
        object["rows"].push_back({{"name", r.name},
                                  {"passed", r.passed},
                                  {"failed", r.failed},
                                  {"skipped", r.skipped},
                                  {"skip_reasons", tools::json(r.skip_reasons)}});
    return object;
}

} // namespace octet::vectors
