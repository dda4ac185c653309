// Probes are chosen greedily: each row is the one that splits the sets of contracts most that no row has told
// apart so far. Start reading at separating_rows.
// SPDX-License-Identifier: Apache-2.0
#include "match/finder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "common/text.hpp"
#include "octet/graph.hpp"

namespace octet::match {
namespace {

using impl::throw_invalid;

/// The codes that each of some contracts computes for all rows.
class results {
public:
    results(const subject &s, const inputs &rows, const std::vector<std::size_t> &contracts)
        : per_row_(s.outputs_per_row()), rows_(match::row_count(rows)) {
        const inputs reduced = s.reduce ? s.reduce(rows) : rows;
        for (const std::size_t c : contracts)
            columns_.push_back(s.contracts[c].compute(reduced));
    }
    std::size_t row_count() const { return rows_; }
    std::size_t contract_count() const { return columns_.size(); }
    bool are_equal(std::size_t a, std::size_t b, std::size_t row) const {
        const auto begin = static_cast<std::ptrdiff_t>(row * per_row_),
                   size = static_cast<std::ptrdiff_t>(per_row_);
        return std::equal(columns_[a].begin() + begin, columns_[a].begin() + begin + size,
                          columns_[b].begin() + begin);
    }

private:
    std::size_t per_row_, rows_;
    std::vector<codes> columns_;
};

/// Sets of contracts that the rows so far do not tell apart.
class partition {
public:
    explicit partition(const results &r) : results_(r), sets_(1) {
        sets_[0].resize(r.contract_count());
        std::iota(sets_[0].begin(), sets_[0].end(), 0);
    }
    /// How many sets a row adds.
    std::size_t gain(std::size_t row) const {
        std::size_t gained = 0;
        for (const std::vector<std::size_t> &set : sets_)
            if (set.size() > 1)
                gained += split(set, row).size() - 1;
        return gained;
    }
    void refine(std::size_t row) {
        std::vector<std::vector<std::size_t>> finer;
        for (const std::vector<std::size_t> &set : sets_)
            for (std::vector<std::size_t> &part : split(set, row))
                finer.push_back(std::move(part));
        sets_ = std::move(finer);
    }

private:
    std::vector<std::vector<std::size_t>> split(const std::vector<std::size_t> &set, std::size_t row) const {
        std::vector<std::vector<std::size_t>> parts;
        for (const std::size_t c : set) {
            const auto same =
                std::find_if(parts.begin(), parts.end(), [&](const std::vector<std::size_t> &part) {
                    return results_.are_equal(part[0], c, row);
                });
            if (same == parts.end())
                parts.push_back({c});
            else
                same->push_back(c);
        }
        return parts;
    }

    const results &results_;
    std::vector<std::vector<std::size_t>> sets_;
};

/// Rows that tell the contracts apart as far as the pool can, as few as a greedy choice finds; each round
/// takes others than those before, until there are `count` or a round finds none.
std::vector<std::size_t> separating_rows(const results &r, std::size_t count) {
    std::vector<std::size_t> open, chosen;
    for (std::size_t row = 0; row < r.row_count(); row++) // rows on which all agree never help
        if (partition(r).gain(row) > 0)
            open.push_back(row);
    while (chosen.size() < count) {
        partition sets(r);
        const std::size_t before = chosen.size();
        while (chosen.size() < count && !open.empty()) {
            std::size_t best = 0, most = 0;
            for (std::size_t i = 0; i < open.size(); i++)
                if (const std::size_t gain = sets.gain(open[i]); gain > most) {
                    most = gain;
                    best = i;
                }
            if (most == 0)
                break;
            sets.refine(open[best]);
            chosen.push_back(open[best]);
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(best));
        }
        if (chosen.size() == before)
            break;
    }
    return chosen;
}

/// Adds rows of the pool at even distances until there are `count`: ends and clamps are among them, since
/// pools are sorted.
void fill(std::vector<std::size_t> &rows, std::size_t count, std::size_t pool) {
    std::vector<bool> is_taken(pool);
    for (const std::size_t row : rows)
        is_taken[row] = true;
    std::vector<std::size_t> rest;
    for (std::size_t row = 0; row < pool; row++)
        if (!is_taken[row])
            rest.push_back(row);
    const std::size_t wanted = std::min(count > rows.size() ? count - rows.size() : 0, rest.size());
    for (std::size_t i = 0; i < wanted; i++)
        rows.push_back(rest[wanted == 1 ? 0 : i * (rest.size() - 1) / (wanted - 1)]);
}

std::vector<std::size_t> all_contracts(const subject &s) {
    std::vector<std::size_t> all(s.contracts.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void check_outputs(const subject &s, const inputs &probes, const values &outputs) {
    if (outputs.type == data_type::f32) {
        for (std::size_t i = 0; i < outputs.count(); i++)
            if (std::isnan(outputs.real(i)))
                throw_invalid("outputs: element ", i,
                              " is NaN, allowed: ", s.dst == data_type::f32 ? "numbers" : "codes of type ",
                              s.dst == data_type::f32 ? "" : to_string(s.dst));
    }
    if (outputs.type != s.dst)
        throw_invalid("outputs: type ", to_string(outputs.type), ", allowed: ", to_string(s.dst),
                      ", the type of the description");
    const std::size_t expected = row_count(probes) * s.outputs_per_row();
    memory::dims dims = s.dst_row;
    dims.insert(dims.begin(), static_cast<dim_t>(row_count(probes)));
    if (outputs.count() != expected || outputs.dims.empty() || outputs.dims[0] != dims[0])
        throw_invalid("outputs: dimensions ", model::to_text(outputs.dims),
                      ", allowed: ", model::to_text(dims), ", a row for each row of the inputs");
    if (expected < fewest_outputs)
        throw_invalid("outputs: ", expected, " results are too few for a verdict, allowed: at least ",
                      fewest_outputs);
}

} // namespace

std::size_t subject::outputs_per_row() const {
    std::size_t count = 1;
    for (const dim_t d : dst_row)
        count *= static_cast<std::size_t>(d);
    return count;
}

inputs propose(const subject &s, std::size_t outputs) {
    if (outputs < fewest_outputs || outputs > most_outputs)
        throw_invalid("propose: ", outputs, " results, allowed: ", fewest_outputs, " to ", most_outputs);
    const std::size_t per_row = s.outputs_per_row();
    if (per_row > most_outputs)
        throw_invalid("propose: a row has ", per_row, " results, allowed: at most ", most_outputs);
    const std::size_t count = std::max<std::size_t>(outputs / per_row, 1), pool = row_count(s.pool);
    std::vector<std::size_t> rows =
        separating_rows(results(s, s.pool, all_contracts(s)), count / 2 + count % 2);
    fill(rows, count, pool);
    return rows_of(s.pool, rows);
}

verdict judge(const subject &s, const inputs &probes, const values &outputs) {
    check_outputs(s, probes, outputs);
    verdict v;
    v.results = outputs.count();
    const inputs reduced = s.reduce ? s.reduce(probes) : probes;
    for (std::size_t c = 0; c < s.contracts.size(); c++) {
        const codes expected = s.contracts[c].compute(reduced);
        excluded_contract e{c, 0, 0, 0, 0, {}};
        for (std::size_t i = 0; i < expected.size(); i++)
            if (expected[i] != outputs.code(i) && e.different++ == 0) {
                e.first = i;
                e.expected = expected[i];
                e.got = outputs.code(i);
                e.where = row_text(probes, i / s.outputs_per_row());
            }
        if (e.different == 0)
            v.consistent.push_back(c);
        else
            v.excluded.push_back(std::move(e));
    }
    std::vector<std::size_t> separating;
    if (v.consistent.size() > 1)
        separating = separating_rows(results(s, s.pool, v.consistent), 64);
    v.separating = rows_of(s.pool, separating);
    return v;
}

std::string to_text(const verdict &v, const subject &s) {
    std::string text;
    if (v.consistent.empty())
        text = impl::text("none of these contracts gives the ", v.results, " results\n");
    else
        text = impl::text("consistent with ", v.results, " results:\n");
    for (const std::size_t c : v.consistent)
        text += "  " + s.contracts[c].text() + '\n';
    if (v.consistent.size() > 1)
        text += row_count(v.separating) > 0
                    ? impl::text("they differ at ", row_count(v.separating), " other inputs\n")
                    : impl::text("they are equal at all ", row_count(s.pool), " inputs that were tried\n");
    if (!v.excluded.empty())
        text += "excluded, by the first result that differs:\n";
    for (const excluded_contract &e : v.excluded)
        text += impl::text("  ", s.contracts[e.contract].text(), ": [", e.first, "] is ",
                           code_text(s.dst, e.got), ", the contract's is ", code_text(s.dst, e.expected),
                           " (", e.where, "); ", e.different, " of ", v.results, " differ\n");
    std::string impossible;
    for (const refused_contract &r : s.refused)
        impossible += (impossible.empty() ? "not defined for this operator: " : ", ") + r.name;
    return impossible.empty() ? text : text + impossible + '\n';
}

std::string to_json_text(const verdict &v, const subject &s) {
    using json = nlohmann::ordered_json;
    json object = {{"results", v.results},
                   {"consistent", json::array()},
                   {"separable", row_count(v.separating) > 0},
                   {"excluded", json::array()},
                   {"refused", json::array()}};
    const auto number = [&](std::int32_t code) {
        return s.dst == data_type::f32 ? json(float_of(code)) : json(code);
    };
    for (const std::size_t c : v.consistent)
        object["consistent"].push_back(
            {{"contract", s.contracts[c].name}, {"detail", s.contracts[c].detail}});
    for (const excluded_contract &e : v.excluded)
        object["excluded"].push_back({{"contract", s.contracts[e.contract].name},
                                      {"detail", s.contracts[e.contract].detail},
                                      {"different", e.different},
                                      {"first", e.first},
                                      {"inputs", e.where},
                                      {"expected", number(e.expected)},
                                      {"got", number(e.got)}});
    for (const refused_contract &r : s.refused)
        object["refused"].push_back({{"contract", r.name}, {"why", r.why}});
    return object.dump(2, ' ', false, json::error_handler_t::replace);
}

} // namespace octet::match
