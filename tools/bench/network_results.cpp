// Tables for people, rows for files, JSON for programs, each from the same results.
// SPDX-License-Identifier: Apache-2.0
#include "bench/network_results.hpp"

#include <algorithm>
#include <cmath>

#include "base/print.hpp"
#include "bench/results.hpp"

namespace octet::tools {
namespace {

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, 3); }
std::string microseconds(double seconds) { return fixed(seconds * 1e6, 1); }
std::string percent(double share) { return std::isfinite(share) ? fixed(100 * share, 1) : ""; }

std::string disturbed_text(const measurement &m) {
    return m.disturbed > 0 ? std::to_string(m.disturbed) : "";
}

std::string whole_text(const std::vector<network_result> &results) {
    using align = table::align;
    const bool has_baseline = results[0].whole.has_baseline(),
               has_several = std::any_of(results.begin(), results.end(),
                                         [](const network_result &r) { return r.whole.threads > 1; }),
               is_disturbed = std::any_of(results.begin(), results.end(),
                                          [](const network_result &r) { return r.whole.disturbed > 0; });
    std::vector<table::column> columns = {{""}};
    for (const char *title :
         {"min ms", "ms", "P90", "P99", "layers ms", "network/layers", "cold ms", "% of peak", "% of bound"})
        columns.push_back({title, align::right});
    if (has_baseline)
        columns.push_back({"ratio", align::right});
    if (has_several)
        for (const char *title : {"scaling", "cores", "trip"})
            columns.push_back({title, align::right});
    if (is_disturbed)
        columns.push_back({"disturbed", align::right});
    table t(columns);
    for (const network_result &r : results) {
        const measurement &m = r.whole;
        std::vector<std::string> row = {threads_text({m.threads})};
        for (const double seconds :
             {m.time.minimum, m.time.median, m.time.p90, m.time.p99, r.warm.time.median})
            row.push_back(milliseconds(seconds));
        row.insert(row.end(), {fixed(r.over_layers(), 3), milliseconds(r.cold.time.median),
                               percent(m.share_of_peak()), percent(m.share_of_bound())});
        if (has_baseline)
            row.push_back(fixed(m.ratio(), 3));
        if (has_several)
            row.insert(row.end(),
                       {m.scaling > 0 ? fixed(m.scaling, 2) : "", m.cores > 0 ? fixed(m.cores, 2) : "",
                        m.round_trip > 0 ? fixed(m.round_trip, 0) : ""});
        if (is_disturbed)
            row.push_back(disturbed_text(m));
        t.add(row);
        if (!has_baseline)
            continue;
        std::vector<std::string> theirs = {"  " + m.baseline_implementation};
        for (const double seconds :
             {m.baseline_time.minimum, m.baseline_time.median, m.baseline_time.p90, m.baseline_time.p99})
            theirs.push_back(milliseconds(seconds));
        theirs.insert(theirs.end(), {"", "", "", percent(m.baseline_share_of_peak()),
                                     percent(m.baseline_share_of_bound())});
        theirs.resize(row.size());
        t.add(theirs);
    }
    return t.text();
}

bool has_disturbed_nodes(const network_result &r) {
    return std::any_of(r.nodes.begin(), r.nodes.end(), [](const measured_node &node) {
        return !node.alone.empty() && node.alone[0].disturbed > 0;
    });
}

std::string nodes_text(const std::vector<network_result> &results) {
    using align = table::align;
    std::vector<table::column> columns = {{"node"}, {"implementation"}};
    for (const network_result &r : results) {
        const std::string threads = std::to_string(r.whole.threads) + "T ";
        for (const char *title : {"in net us", "warm", "cold", "% of peak"})
            columns.push_back({title == std::string("in net us") ? threads + title : title, align::right});
        columns.push_back({"bound"});
        columns.push_back({"% of it", align::right});
        if (&r != &results[0])
            columns.push_back({"scaling", align::right});
        if (has_disturbed_nodes(r))
            columns.push_back({"disturbed", align::right});
    }
    table t(columns);
    for (std::size_t i = 0; i < results[0].nodes.size(); i++) {
        std::vector<std::string> row = {results[0].nodes[i].name, results[0].nodes[i].implementation};
        for (const network_result &r : results) {
            const measured_node &node = r.nodes.at(i);
            row.push_back(microseconds(node.in_network.time.median));
            if (node.alone.empty()) {
                row.insert(row.end(), 5, "");
            } else {
                const measurement &warm = node.alone[0];
                row.insert(row.end(),
                           {microseconds(warm.time.median), microseconds(node.alone[1].time.median),
                            warm.what.operations > 0 ? percent(warm.share_of_peak()) : "",
                            warm.best.binding(), percent(warm.share_of_bound())});
            }
            if (&r != &results[0])
                row.push_back(node.alone.empty() ? "" : fixed(node.alone[0].scaling, 2));
            if (has_disturbed_nodes(r))
                row.push_back(node.alone.empty() ? "" : disturbed_text(node.alone[0]));
        }
        t.add(row);
    }
    return t.text();
}

} // namespace

std::string network_text(const std::vector<network_result> &results) {
    return whole_text(results) + '\n' + nodes_text(results);
}

std::vector<measurement> rows_of(const network_result &result) {
    std::vector<measurement> rows = {result.whole, result.warm, result.cold};
    for (const measured_node &node : result.nodes) {
        rows.insert(rows.end(), node.alone.begin(), node.alone.end());
        rows.push_back(node.in_network);
    }
    return rows;
}

json to_json(const network_result &result) {
    json rows = json::array();
    for (const measurement &m : rows_of(result))
        rows.push_back(columns_of(m));
    return {{"threads", result.whole.threads}, {"network_over_layers", result.over_layers()}, {"rows", rows}};
}

std::vector<provider_gain> provider_gains(const std::vector<network_result> &results) {
    std::vector<provider_gain> gains;
    for (std::size_t i = 0; i + 1 < results.size(); i += 2)
        gains.push_back({results[i].whole.threads,
                         results[i].whole.baseline_time.median / results[i + 1].whole.baseline_time.median});
    return gains;
}

void set_scaling(std::vector<network_result> &results) {
    for (network_result &r : results) {
        const network_result &first = results[0];
        if (&r == &first)
            continue;
        const auto scale = [](measurement &m, const measurement &with_first) {
            m.scaling = with_first.time.median / m.time.median;
        };
        scale(r.whole, first.whole);
        scale(r.warm, first.warm);
        scale(r.cold, first.cold);
        for (std::size_t i = 0; i < r.nodes.size(); i++) {
            scale(r.nodes[i].in_network, first.nodes[i].in_network);
            for (std::size_t j = 0; j < std::min(r.nodes[i].alone.size(), first.nodes[i].alone.size()); j++)
                scale(r.nodes[i].alone[j], first.nodes[i].alone[j]);
        }
    }
}

} // namespace octet::tools
