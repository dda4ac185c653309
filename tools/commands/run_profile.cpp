#include "commands/run_profile.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "commands/print.hpp"

namespace octet::tools {
namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double sum(const std::vector<double> &values) {
    double total = 0;
    for (const double v : values)
        total += v;
    return total;
}

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, 3); }
std::string share(double part, double whole) { return fixed(whole > 0 ? 100 * part / whole : 0, 1) + " %"; }

} // namespace

void run_profile::add(std::size_t node, double seconds) {
    runs_.back().resize(net_.get_graph().nodes.size());
    runs_.back().at(node) = seconds;
}

std::vector<double> run_profile::medians() const {
    std::vector<double> result;
    for (std::size_t i = 0; i < net_.get_graph().nodes.size(); i++) {
        std::vector<double> times;
        for (const std::vector<double> &run : runs_)
            times.push_back(run.at(i));
        result.push_back(median(std::move(times)));
    }
    return result;
}

std::string run_profile::nodes_text() const {
    const model::graph &g = net_.get_graph();
    const std::vector<double> times = medians();
    const double total = sum(times);
    using align = table::align;
    table report({{"node", align::right},
                  {"operator"},
                  {"output"},
                  {"implementation"},
                  {"ms", align::right},
                  {"share", align::right}});
    for (std::size_t i = 0; i < times.size(); i++) {
        const model::tensor &output = g.tensors[static_cast<std::size_t>(g.nodes[i].outputs[0])];
        report.add({std::to_string(model::node_number(g, i)), model::operator_text(g.nodes[i]),
                    model::to_text(output.dims), net_.implementation(i), milliseconds(times[i]),
                    share(times[i], total)});
    }
    report.add({"", "total", "", "", milliseconds(total), ""});
    return report.text();
}

std::string run_profile::operators_text() const {
    struct entry {
        std::size_t count = 0;
        double seconds = 0;
    };
    const std::vector<double> times = medians();
    std::map<std::string, entry> by_name;
    for (std::size_t i = 0; i < times.size(); i++) {
        entry &e = by_name[model::operator_text(net_.get_graph().nodes[i])];
        e.count++;
        e.seconds += times[i];
    }
    std::vector<std::pair<std::string, entry>> sorted(by_name.begin(), by_name.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto &a, const auto &b) { return a.second.seconds > b.second.seconds; });
    using align = table::align;
    table report({{"operator"}, {"nodes", align::right}, {"ms", align::right}, {"share", align::right}});
    for (const auto &[name, e] : sorted)
        report.add({name, std::to_string(e.count), milliseconds(e.seconds), share(e.seconds, sum(times))});
    return report.text();
}

void run_profile::write_trace(const std::string &path) const {
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
    std::ofstream file(path);
    file << nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump(1) << '\n';
    if (!file.flush())
        throw error(status::runtime_error, path + ": cannot be written");
}

} // namespace octet::tools
