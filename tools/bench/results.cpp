// Tables of results as text, as CSV and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "bench/results.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <sstream>

#include "base/print.hpp"

namespace octet::tools {
namespace {

/// The measurements of one layer, in the order of `results`.
using row_of_measurements = std::vector<const measurement *>;

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 2); }
std::string percent(double share) { return std::isfinite(share) ? fixed(share * 100, 1) : "-"; }
bool is_counted(const measurement &m) { return m.what.operations > 0; }

bool starts_layer(const std::vector<measurement> &results, std::size_t i) {
    return i == 0 || (results[i].threads == results[0].threads && results[i].state == results[0].state);
}

/// Measurements of a layer stand together, the same ones for each layer.
std::vector<row_of_measurements> rows_of(const std::vector<measurement> &results) {
    std::vector<row_of_measurements> rows;
    for (std::size_t i = 0; i < results.size(); i++) {
        if (starts_layer(results, i))
            rows.emplace_back();
        rows.back().push_back(&results[i]);
    }
    return rows;
}

/// A column of one measurement of each layer.
struct figure {
    std::string title;
    std::string (*cell)(const measurement &);
};

/// With one measurement per layer all that is known, else what sets them apart.
std::vector<figure> figures_of(const measurement &m, bool is_alone, bool is_disturbed) {
    using one = const measurement &;
    std::vector<figure> figures;
    const auto add = [&](std::initializer_list<figure> more) {
        figures.insert(figures.end(), more.begin(), more.end());
    };
    if (is_alone)
        add({{"min us", [](one r) { return microseconds(r.time.minimum); }}});
    add({{"us", [](one r) { return microseconds(r.time.median); }}});
    if (is_alone)
        add({{"P90", [](one r) { return microseconds(r.time.p90); }},
             {"P99", [](one r) { return microseconds(r.time.p99); }},
             {"GOPS", [](one r) { return is_counted(r) ? fixed(r.gops(), 1) : ""; }}});
    if (m.state == caches::warm)
        add({{"% of peak", [](one r) { return is_counted(r) ? percent(r.share_of_peak()) : ""; }}});
    if (is_alone)
        add({{"% of read", [](one r) { return r.read_seconds > 0 ? percent(r.share_of_read()) : ""; }}});
    add({{"bound", [](one r) { return std::string(r.best.binding()); }},
         {"% of it", [](one r) { return r.best.bound() > 0 ? percent(r.share_of_bound()) : ""; }}});
    if (m.has_baseline() && is_alone)
        add({{"baseline us", [](one r) { return microseconds(r.baseline_time.median); }},
             {"baseline %", [](one r) { return percent(r.baseline_share_of_peak()); }}});
    if (m.has_baseline())
        add({{"ratio", [](one r) { return fixed(r.ratio(), 3); }}});
    if (m.scaling > 0)
        add({{"scaling", [](one r) { return fixed(r.scaling, 2); }}});
    if (m.threads > 1 && m.state == caches::warm)
        add({{"cores", [](one r) { return fixed(r.cores, 2); }},
             {"trip", [](one r) { return r.round_trip > 0 ? fixed(r.round_trip, 0) : ""; }}});
    if (is_disturbed)
        add({{"disturbed", [](one r) { return r.disturbed > 0 ? std::to_string(r.disturbed) : ""; }}});
    if (!is_alone)
        figures.front().title =
            std::to_string(m.threads) + "T " + (m.state == caches::cold ? "cold us" : "us");
    return figures;
}

/// "2 threads, warm caches: ", where there is something to tell apart.
std::string which(int threads, caches state, bool is_alone) {
    return is_alone ? "" : threads_text({threads}) + ", " + to_string(state) + " caches: ";
}

/// The column with the first count of threads and the same caches.
std::size_t first_like(const row_of_measurements &row, std::size_t column) {
    std::size_t i = 0;
    while (row[i]->state != row[column]->state)
        i++;
    return i;
}

/// Shares of all occurrences: ideal time / time.
std::string total_text(const std::vector<row_of_measurements> &rows, std::size_t column) {
    const std::size_t first = first_like(rows[0], column);
    double peak = 0, bound = 0, time = 0, baseline_time = 0, first_time = 0, cores = 0;
    for (const row_of_measurements &row : rows) {
        const measurement &m = *row[column];
        const auto count = static_cast<double>(m.what.count);
        peak += m.peak > 0 ? count * m.what.operations / m.peak : 0;
        bound += count * m.best.bound();
        time += count * m.time.median;
        first_time += count * row[first]->time.median;
        baseline_time += count * m.baseline_time.median;
        cores += m.cores / static_cast<double>(rows.size());
    }
    const measurement &m = *rows[0][column];
    std::string text = which(m.threads, m.state, rows[0].size() == 1);
    text += peak > 0
                ? "share of peak, weighted by count: " + percent(peak / time) + " %" +
                      (m.has_baseline() ? ", baseline " + percent(peak / baseline_time) + " %" : "") + "; "
                : "";
    text += "share of bound: " + percent(bound / time) + " %" +
            (m.has_baseline() ? ", baseline " + percent(bound / baseline_time) + " %" : "");
    if (m.scaling > 0)
        text += "; scaling " + fixed(first_time / time, 2);
    if (m.threads > 1)
        text += "; cores " + fixed(cores, 2);
    return text + '\n';
}

/// The baseline's times / Octet's, with one count of threads and one state of the caches.
struct ratios {
    int threads;
    caches state;
    double geomean, minimum;
};

std::vector<ratios> ratios_of(const std::vector<measurement> &results) {
    const std::vector<row_of_measurements> rows = rows_of(results);
    std::vector<ratios> all;
    for (std::size_t i = 0; i < rows[0].size(); i++) {
        double logs = 0, lowest = INFINITY;
        for (const row_of_measurements &row : rows) {
            logs += std::log(row[i]->ratio());
            lowest = std::min(lowest, row[i]->ratio());
        }
        all.push_back({rows[0][i]->threads, rows[0][i]->state,
                       std::exp(logs / static_cast<double>(rows.size())), lowest});
    }
    return all;
}

json known(double value, bool is_known = true) {
    return is_known && std::isfinite(value) ? json(value) : json();
}

/// The start of this process, for files that hold several runs.
const std::string &start_of_run() {
    static const std::string text = [] {
        const std::time_t now = std::time(nullptr);
        std::tm parts{};
        gmtime_r(&now, &parts);
        char formatted[32];
        std::strftime(formatted, sizeof formatted, "%Y-%m-%dT%H:%M:%SZ", &parts);
        return std::string(formatted);
    }();
    return text;
}

/// As CSV has it: in quotes where it would end the field.
std::string csv_text(const std::string &text) {
    if (text.find_first_of(",\"\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string csv_cell(const json &value) {
    std::ostringstream cell;
    if (value.is_string())
        cell << csv_text(value.get<std::string>());
    else if (value.is_number_float())
        cell << value.get<double>();
    else if (!value.is_null())
        cell << value;
    return cell.str();
}

} // namespace

std::string threads_text(const std::vector<int> &threads) {
    std::string text;
    for (std::size_t i = 0; i < threads.size(); i++)
        text += (i == 0 ? "" : i + 1 == threads.size() ? " and " : ", ") + std::to_string(threads[i]);
    return text + (threads == std::vector<int>{1} ? " thread" : " threads");
}

std::string peaks_text(const std::vector<measurement> &results) {
    const std::vector<row_of_measurements> rows = rows_of(results);
    std::string text;
    for (const measurement *m : rows[0])
        if (m->state == results[0].state)
            text += (text.empty() ? "" : ", ") + fixed(m->peak * 1e-9, 0) + " GOPS";
    return text;
}

std::string results_text(const std::vector<measurement> &results) {
    const std::vector<row_of_measurements> rows = rows_of(results);
    const bool is_alone = rows[0].size() == 1;
    std::vector<table::column> columns = {{"layer"}, {"count", table::align::right}, {"implementation"}};
    std::vector<std::vector<figure>> figures;
    for (std::size_t i = 0; i < rows[0].size(); i++) {
        const bool is_disturbed = std::any_of(
            rows.begin(), rows.end(), [&](const row_of_measurements &row) { return row[i]->disturbed > 0; });
        figures.push_back(figures_of(*rows[0][i], is_alone, is_disturbed));
        for (const figure &f : figures.back())
            columns.push_back({f.title, f.title == "bound" ? table::align::left : table::align::right});
    }
    table t(columns);
    for (const row_of_measurements &row : rows) {
        std::vector<std::string> cells = {row[0]->what.name, std::to_string(row[0]->what.count),
                                          row[0]->implementation};
        for (std::size_t i = 0; i < row.size(); i++)
            for (const figure &f : figures[i])
                cells.push_back(f.cell(*row[i]));
        t.add(std::move(cells));
    }
    std::string text = t.text();
    for (std::size_t i = 0; i < rows[0].size(); i++)
        text += total_text(rows, i);
    return text;
}

std::string ratios_text(const std::vector<measurement> &results) {
    const std::vector<ratios> all = ratios_of(results);
    std::string text;
    for (const ratios &r : all)
        text += which(r.threads, r.state, all.size() == 1) + "geomean " + fixed(r.geomean, 3) + " min " +
                fixed(r.minimum, 3) + '\n';
    return text;
}

json columns_of(const measurement &m) {
    const bool has_baseline = m.has_baseline(), has_bound = m.best.bound() > 0;
    const auto microseconds_of = [](double seconds, bool is_known) { return known(seconds * 1e6, is_known); };
    return {{"name", m.what.name},
            {"count", m.what.count},
            {"implementation", m.implementation},
            {"microseconds", known(m.time.median * 1e6)},
            {"microseconds_min", known(m.time.minimum * 1e6)},
            {"microseconds_p90", known(m.time.p90 * 1e6)},
            {"microseconds_p99", known(m.time.p99 * 1e6)},
            {"gops", known(m.gops(), is_counted(m))},
            {"share_of_peak", known(m.share_of_peak(), is_counted(m))},
            {"share_of_read", known(m.share_of_read(), m.read_seconds > 0)},
            {"baseline_implementation", has_baseline ? json(m.baseline_implementation) : json()},
            {"baseline_microseconds", microseconds_of(m.baseline_time.median, has_baseline)},
            {"baseline_share_of_peak", known(m.baseline_share_of_peak(), has_baseline && is_counted(m))},
            {"ratio", known(m.ratio(), has_baseline)},
            {"threads", m.threads},
            {"caches", to_string(m.state)},
            {"bound", has_bound ? json(m.best.binding()) : json()},
            {"share_of_bound", known(m.share_of_bound(), has_bound)},
            {"baseline_share_of_bound", known(m.baseline_share_of_bound(), has_baseline && has_bound)},
            {"compute_microseconds", microseconds_of(m.best.compute, m.best.compute > 0)},
            {"read_microseconds", microseconds_of(m.best.read, m.best.read > 0)},
            {"write_microseconds", microseconds_of(m.best.write, m.best.write > 0)},
            {"scaling", known(m.scaling, m.scaling > 0)},
            {"cores", known(m.cores, m.cores > 0)},
            {"round_trip_cycles", known(m.round_trip, m.round_trip > 0)},
            {"microseconds_low", known(m.time.low * 1e6)},
            {"microseconds_high", known(m.time.high * 1e6)},
            {"peak_gops", known(m.peak * 1e-9, m.peak > 0)},
            {"run", start_of_run()},
            {"version", version()},
            {"disturbed_samples", m.disturbed}};
}

std::string csv_header() {
    const json columns = columns_of({});
    std::string header = "table";
    for (const auto &[name, value] : columns.items())
        header += ',' + name;
    return header + '\n';
}

std::string csv_row(const std::string &table, const measurement &m) {
    const json columns = columns_of(m);
    std::string row = csv_text(table);
    for (const auto &[name, value] : columns.items())
        row += ',' + csv_cell(value);
    return row + '\n';
}

json table_json(const std::string &table, const std::vector<measurement> &results) {
    json layers = json::array();
    for (const measurement &m : results)
        layers.push_back(columns_of(m));
    return {{"table", table}, {"peak_gops", known(results.front().peak * 1e-9)}, {"layers", layers}};
}

json ratios_json(const std::vector<measurement> &results) {
    json list = json::array();
    for (const ratios &r : ratios_of(results))
        list.push_back({{"geomean", r.geomean},
                        {"minimum", r.minimum},
                        {"threads", r.threads},
                        {"caches", to_string(r.state)}});
    if (list.size() > 1)
        return list;
    return {{"geomean", list[0]["geomean"]}, {"minimum", list[0]["minimum"]}};
}

json bench_json(const std::vector<int> &threads, const json &tables, const json &ratio) {
    json object = {{"threads", threads.size() == 1 ? json(threads[0]) : json(threads)},
                   {"isa", to_string(get_effective_cpu_isa())},
                   {"tables", tables}};
    if (!ratio.is_null())
        object["ratio"] = ratio;
    return object;
}

} // namespace octet::tools
