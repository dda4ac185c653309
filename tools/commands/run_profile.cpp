// Sums and tables over the times that were kept; see run_profile.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "commands/run_profile.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/print.hpp"

namespace octet::tools {
namespace {

double sum(const std::vector<double> &values) {
    double total = 0;
    for (const double v : values)
        total += v;
    return total;
}

double sum_of_medians(const std::vector<time_summary> &times) {
    double total = 0;
    for (const time_summary &t : times)
        total += t.median;
    return total;
}

/// To 0.1 us: nodes of a small network take less than one.
std::string milliseconds(double seconds) { return fixed(seconds * 1e3, 4); }
std::string share(double part, double whole) { return fixed(whole > 0 ? 100 * part / whole : 0, 1) + " %"; }

} // namespace

void run_profile::add(std::size_t node, double seconds) {
    runs_.back().resize(net_.get_graph().nodes.size());
    runs_.back().at(node) = seconds;
}

time_summary run_profile::run_times() const {
    std::vector<double> totals;
    for (const std::vector<double> &run : runs_)
        totals.push_back(sum(run));
    return summarize(std::move(totals));
}

std::vector<time_summary> run_profile::node_times() const {
    std::vector<time_summary> result;
    for (std::size_t i = 0; i < net_.get_graph().nodes.size(); i++) {
        std::vector<double> times;
        for (const std::vector<double> &run : runs_)
            times.push_back(run.at(i));
        result.push_back(summarize(std::move(times)));
    }
    return result;
}

std::string run_profile::runs_text() const {
    const time_summary t = run_times();
    return std::to_string(runs_.size()) + (runs_.size() == 1 ? " run" : " runs") + ": minimum " +
           milliseconds(t.minimum) + " ms, median " + milliseconds(t.median) + " ms, P90 " +
           milliseconds(t.p90) + " ms, P99 " + milliseconds(t.p99) + " ms\n";
}

std::string run_profile::nodes_text() const {
    const model::graph &g = net_.get_graph();
    const std::vector<time_summary> times = node_times();
    const double total = sum_of_medians(times);
    std::vector<table::column> columns = {
        {"node", table::align::right}, {"operator"}, {"output"}, {"implementation"}};
    for (const char *title : {"min ms", "median", "P90", "P99", "share"})
        columns.push_back({title, table::align::right});
    table report(columns);
    for (std::size_t i = 0; i < times.size(); i++) {
        const model::tensor &output = g.tensors[static_cast<std::size_t>(g.nodes[i].outputs[0])];
        report.add({std::to_string(model::node_number(g, i)), model::operator_text(g.nodes[i]),
                    model::to_text(output.dims), net_.implementation(i), milliseconds(times[i].minimum),
                    milliseconds(times[i].median), milliseconds(times[i].p90), milliseconds(times[i].p99),
                    share(times[i].median, total)});
    }
    return report.text();
}

std::string run_profile::operators_text() const {
    struct entry {
        std::size_t count = 0;
        double seconds = 0;
    };
    const std::vector<time_summary> times = node_times();
    std::map<std::string, entry> by_name;
    for (std::size_t i = 0; i < times.size(); i++) {
        entry &e = by_name[model::operator_text(net_.get_graph().nodes[i])];
        e.count++;
        e.seconds += times[i].median;
    }
    std::vector<std::pair<std::string, entry>> sorted(by_name.begin(), by_name.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto &a, const auto &b) { return a.second.seconds > b.second.seconds; });
    using align = table::align;
    table report(
        {{"operator"}, {"nodes", align::right}, {"median ms", align::right}, {"share", align::right}});
    for (const auto &[name, e] : sorted)
        report.add({name, std::to_string(e.count), milliseconds(e.seconds),
                    share(e.seconds, sum_of_medians(times))});
    return report.text();
}

json run_profile::to_json() const {
    const model::graph &g = net_.get_graph();
    const std::vector<time_summary> times = node_times();
    const double total = sum_of_medians(times);
    json object = {{"runs", runs_.size()}, {"times", tools::to_json(run_times())}, {"nodes", json::array()}};
    for (std::size_t i = 0; i < times.size(); i++)
        object["nodes"].push_back({{"node", model::node_number(g, i)},
                                   {"operator", model::operator_text(g.nodes[i])},
                                   {"output", tools::to_json(g, g.nodes[i].outputs[0])},
                                   {"implementation", net_.implementation(i)},
                                   {"times", tools::to_json(times[i])},
                                   {"share", total > 0 ? times[i].median / total : 0}});
    return object;
}

std::string run_profile::trace() const {
    const model::graph &g = net_.get_graph();
    nlohmann::json events = nlohmann::json::array();
    double now = 0; // microseconds
    const auto event = [&](const std::string &name, const char *category, double start, double duration) {
        return nlohmann::json{{"name", name},    {"cat", category}, {"ph", "X"}, {"ts", start},
                              {"dur", duration}, {"pid", 1},        {"tid", 1}};
    };
    for (std::size_t r = 0; r < runs_.size(); r++) {
        events.push_back(event("run " + std::to_string(r), "run", now, sum(runs_[r]) * 1e6));
        for (std::size_t i = 0; i < runs_[r].size(); i++) {
            nlohmann::json node = event(model::node_text(g, i), "node", now, runs_[r][i] * 1e6);
            const model::tensor &output = g.tensors[static_cast<std::size_t>(g.nodes[i].outputs[0])];
            node["args"] = {{"implementation", net_.implementation(i)},
                            {"output", model::type_text(output) + " " + model::to_text(output.dims)}};
            events.push_back(std::move(node));
            now += runs_[r][i] * 1e6;
        }
    }
    return nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump(
               1, ' ', false, nlohmann::json::error_handler_t::replace) +
           '\n';
}

} // namespace octet::tools
