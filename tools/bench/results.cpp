// Tables of results as text and as CSV.

#include "bench/results.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "commands/print.hpp"

namespace octet::tools {
namespace {

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 2); }
std::string percent(double share) { return std::isfinite(share) ? fixed(share * 100, 1) : "-"; }

std::vector<table::column> columns(bool has_peer) {
    std::vector<table::column> result = {{"layer"}, {"count", table::align::right}, {"implementation"}};
    const auto add_numbers = [&](std::initializer_list<const char *> titles) {
        for (const char *title : titles)
            result.push_back({title, table::align::right});
    };
    add_numbers({"min us", "us", "P90", "P99", "GOPS", "% of peak", "% of read"});
    if (has_peer)
        add_numbers({"peer us", "peer %", "ratio"});
    return result;
}

std::vector<std::string> cells(const measurement &m) {
    std::vector<std::string> row = {m.what.name, std::to_string(m.what.count), m.implementation};
    for (const double seconds : {m.time.minimum, m.time.median, m.time.p90, m.time.p99})
        row.push_back(microseconds(seconds));
    row.push_back(m.what.operations > 0 ? fixed(m.gops(), 1) : "");
    row.push_back(m.what.operations > 0 ? percent(m.share_of_peak()) : "");
    row.push_back(m.read_seconds > 0 ? percent(m.share_of_read()) : "");
    if (m.has_peer()) {
        row.push_back(microseconds(m.peer_time.median));
        row.push_back(percent(m.peer_share_of_peak()));
        row.push_back(fixed(m.ratio(), 3));
    }
    return row;
}

/// Operations of all occurrences / their time / peak.
std::string total_text(const std::vector<measurement> &results) {
    double ideal = 0, time = 0, peer_time = 0;
    for (const measurement &m : results) {
        const auto count = static_cast<double>(m.what.count);
        ideal += count * m.what.operations / m.peak;
        time += count * m.time.median;
        peer_time += count * m.peer_time.median;
    }
    return "share of peak, weighted by count: " + percent(ideal / time) + " %" +
           (results.front().has_peer() ? ", peer " + percent(ideal / peer_time) + " %" : "") + '\n';
}

struct ratios {
    double geomean, minimum;
};

ratios ratios_of(const std::vector<measurement> &results) {
    double logs = 0, lowest = INFINITY;
    for (const measurement &m : results) {
        logs += std::log(m.ratio());
        lowest = std::min(lowest, m.ratio());
    }
    return {std::exp(logs / static_cast<double>(results.size())), lowest};
}

} // namespace

std::string results_text(const std::vector<measurement> &results) {
    table t(columns(results.front().has_peer()));
    for (const measurement &m : results)
        t.add(cells(m));
    return t.text() + (results.front().what.operations > 0 ? total_text(results) : "");
}

std::string ratios_text(const std::vector<measurement> &results) {
    const ratios r = ratios_of(results);
    return "geomean " + fixed(r.geomean, 3) + " min " + fixed(r.minimum, 3) + '\n';
}

const char *const csv_header =
    "table,name,count,implementation,microseconds,microseconds_min,microseconds_p90,microseconds_p99,gops,"
    "share_of_peak,share_of_read,peer_implementation,peer_microseconds,peer_share_of_peak,ratio\n";

std::string csv_row(const std::string &table, const measurement &m) {
    std::ostringstream row;
    const auto add = [&](double value, bool is_known = true) {
        row << ',';
        if (is_known && std::isfinite(value))
            row << value;
    };
    row << table << ',' << m.what.name << ',' << m.what.count << ',' << m.implementation;
    for (const double seconds : {m.time.median, m.time.minimum, m.time.p90, m.time.p99})
        add(seconds * 1e6);
    add(m.gops(), m.what.operations > 0);
    add(m.share_of_peak(), m.what.operations > 0);
    add(m.share_of_read(), m.read_seconds > 0);
    row << ',' << m.peer_implementation;
    add(m.peer_time.median * 1e6, m.has_peer());
    add(m.peer_share_of_peak(), m.has_peer());
    add(m.ratio(), m.has_peer());
    row << '\n';
    return row.str();
}

json table_json(const std::string &table, const std::vector<measurement> &results) {
    const auto known = [](double value, bool is_known) {
        return is_known && std::isfinite(value) ? json(value) : json();
    };
    json layers = json::array();
    for (const measurement &m : results) {
        const bool is_counted = m.what.operations > 0;
        layers.push_back({{"name", m.what.name},
                          {"count", m.what.count},
                          {"implementation", m.implementation},
                          {"microseconds", m.time.median * 1e6},
                          {"microseconds_min", m.time.minimum * 1e6},
                          {"microseconds_p90", m.time.p90 * 1e6},
                          {"microseconds_p99", m.time.p99 * 1e6},
                          {"gops", known(m.gops(), is_counted)},
                          {"share_of_peak", known(m.share_of_peak(), is_counted)},
                          {"share_of_read", known(m.share_of_read(), m.read_seconds > 0)},
                          {"peer_implementation", m.has_peer() ? json(m.peer_implementation) : json()},
                          {"peer_microseconds", known(m.peer_time.median * 1e6, m.has_peer())},
                          {"peer_share_of_peak", known(m.peer_share_of_peak(), m.has_peer())},
                          {"ratio", known(m.ratio(), m.has_peer())}});
    }
    return {{"table", table}, {"peak_gops", known(results.front().peak * 1e-9, true)}, {"layers", layers}};
}

json ratios_json(const std::vector<measurement> &results) {
    const ratios r = ratios_of(results);
    return {{"geomean", r.geomean}, {"minimum", r.minimum}};
}

} // namespace octet::tools
