// Goldens of whole networks: every run of every network whose .tflite file lies beside the JSON file. The
// checksum of each operator's output is compared in the order of execution, so the first mismatch names the
// faulty operator.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <optional>
#include <set>
#include <sstream>

#include <zlib.h>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

/// CRC-32 as the goldens write it: 8 hexadecimal digits.
std::string crc_text(byte_view bytes) {
    const uLong crc = crc32_z(0, bytes.data, bytes.size); // zlib
    std::ostringstream text;
    text << std::hex << std::setfill('0') << std::setw(8) << crc;
    return text.str();
}

/// Throws `unimplemented` with each operator that Octet lacks, once.
void require_operators(const model::graph &g) {
    std::set<std::string> missing;
    for (const model::node &n : g.nodes)
        if (!is_supported("tflite", n.op))
            missing.insert(n.op);
    std::string names;
    for (const std::string &name : missing)
        names += (names.empty() ? "" : ", ") + name;
    if (!names.empty())
        throw error(status::unimplemented, "Octet does not execute " + names);
}

/// The expected output of one operator in one run.
struct operator_golden {
    std::size_t node = 0;
    int tensor = 0;
    std::string op, crc;
    std::optional<tensor_record> full; ///< set if the blob holds the tensor
};

struct run_golden {
    std::string name;
    bool continues = false; ///< state tensors carry over from the run before
    std::vector<std::pair<int, tensor_record>> inputs, outputs;
    std::vector<operator_golden> operators;
};

class model_replay {
public:
    model_replay(const json_value &m, const std::vector<std::uint8_t> &blob, const options &opt,
                 report &results)
        : name_(m["name"].text()), json_(m), blob_(blob), opt_(opt), results_(results) {}

    void replay(const vector_file &file, std::map<std::string, int> &operator_counts) {
        const std::filesystem::path path = file.beside(json_["file"].text());
        try {
            if (!std::filesystem::exists(path))
                throw error(status::unimplemented, "its file is not beside the vectors");
            graph_ = model::read_tflite(path.string());
            require_operators(graph_);
            make_networks();
        } catch (const malformed_file &) {
            throw;
        } catch (const error &e) {
            for (const json_value &run : json_["runs"].items())
                report_failure(full_name(run["name"].text()), e);
            return;
        }
        for (const json_value &run : json_["runs"].items())
            replay_run(read_run(run), operator_counts);
    }

private:
    std::string full_name(const std::string &run) const { return name_ + ", run " + run; }

    /// A network that Octet cannot execute is skipped; one that it gets wrong fails.
    void report_failure(const std::string &run, const error &e) {
        if (e.status == status::unimplemented)
            results_.skip(name_, run, e.what());
        else
            results_.fail(name_, run, e.what());
    }

    /// One with all operators' outputs, and one as it is run where only the last outputs matter.
    void make_networks() {
        network_options options;
        options.fusion = false;
        network_.emplace(graph_, options);
        fused_.emplace(graph_);
    }

    bool has_state() const {
        for (const model::tensor &t : graph_.tensors)
            if (t.is_variable)
                return true;
        return false;
    }

    /// A tensor index that must be among those of the model.
    static int read_tensor_index(const json_value &index, const std::vector<int> &allowed) {
        const auto tensor = index.as<int>();
        if (std::find(allowed.begin(), allowed.end(), tensor) != allowed.end())
            return tensor;
        std::string list;
        for (const int a : allowed)
            list += (list.empty() ? "" : ", ") + std::to_string(a);
        index.fail("is " + std::to_string(tensor) + ", allowed by the model: " + list);
    }

    operator_golden read_operator(const json_value &o) const {
        const auto last_node = static_cast<std::int64_t>(graph_.nodes.size()) - 1;
        const auto node = static_cast<std::size_t>(o["op_index"].integer(0, last_node));
        operator_golden g{node,
                          read_tensor_index(o["output_tensor"], graph_.nodes[node].outputs),
                          o["op"].text(),
                          o["crc32"].text(),
                          {}};
        if (g.op != graph_.nodes[node].op)
            o["op"].fail("is '" + g.op + "', but the model has " + model::node_text(graph_, node));
        if (o.has("offset"))
            g.full = read_tensor(o, blob_);
        return g;
    }

    run_golden read_run(const json_value &r) const {
        run_golden run;
        run.name = r["name"].text();
        run.continues = r.has("state") && r["state"].text().rfind("continues", 0) == 0;
        for (const json_value &t : r["inputs"].items())
            run.inputs.emplace_back(read_tensor_index(t["tensor"], graph_.inputs), read_tensor(t, blob_));
        for (const json_value &t : r["outputs"].items())
            run.outputs.emplace_back(read_tensor_index(t["tensor"], graph_.outputs), read_tensor(t, blob_));
        for (const json_value &o : r["op_outputs"].items())
            run.operators.push_back(read_operator(o));
        return run;
    }

    void replay_run(const run_golden &run, std::map<std::string, int> &operator_counts) {
        const std::string name = full_name(run.name);
        results_.begin(name);
        try {
            if (has_state() && !run.continues)
                make_networks();
            std::string complaint = implementation_complaint(opt_.impl, *network_);
            if (complaint.empty())
                complaint = execute(run, operator_counts);
            if (complaint.empty())
                complaint = execute_fused(run);
            results_.judge(name_, name, complaint, implementation_names(*network_));
        } catch (const error &e) {
            report_failure(name, e);
        }
    }

    /// Empty, or the first operator whose output is wrong.
    std::string execute(const run_golden &run, std::map<std::string, int> &operator_counts) {
        for (const auto &[tensor, record] : run.inputs)
            write(network_->get_memory(tensor), record.bytes);
        std::string complaint;
        network_->run([&](std::size_t node, double) {
            for (const operator_golden &g : run.operators)
                if (g.node == node && complaint.empty()) {
                    complaint = operator_complaint(g);
                    operator_counts[g.op]++;
                }
        });
        return complaint.empty() ? output_complaint(run, *network_) : complaint;
    }

    std::string execute_fused(const run_golden &run) {
        for (const auto &[tensor, record] : run.inputs)
            write(fused_->get_memory(tensor), record.bytes);
        fused_->run();
        const std::string complaint = output_complaint(run, *fused_);
        return complaint.empty() ? "" : "with fused operators: " + complaint;
    }

    static std::string output_complaint(const run_golden &run, const network &net) {
        for (const auto &[tensor, record] : run.outputs) {
            const std::string complaint =
                first_difference("output tensor " + std::to_string(tensor), record.type, record.dims,
                                 record.bytes, view_of(net.get_memory(tensor)));
            if (!complaint.empty())
                return complaint;
        }
        return {};
    }

    std::string operator_complaint(const operator_golden &g) const {
        const byte_view got = view_of(network_->get_memory(g.tensor));
        const std::string crc = crc_text(got);
        if (crc == g.crc)
            return {};
        const std::string where = model::node_text(graph_, g.node) + ", tensor " + std::to_string(g.tensor);
        if (g.full) {
            const std::string difference =
                first_difference(where, g.full->type, g.full->dims, g.full->bytes, got);
            if (!difference.empty())
                return difference;
        }
        return where + ": expected CRC-32 " + g.crc + ", got " + crc;
    }

    std::string name_;
    const json_value &json_;
    const std::vector<std::uint8_t> &blob_;
    const options &opt_;
    report &results_;
    model::graph graph_;
    std::optional<network> network_, fused_;
};

} // namespace

void replay_models(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    std::map<std::string, int> operator_counts;
    for (const json_value &m : file.root()["models"].items())
        if (results.wants(m["name"].text()))
            model_replay(m, blob, opt, results).replay(file, operator_counts);
    std::string counts;
    for (const auto &[op, count] : operator_counts)
        counts += (counts.empty() ? "" : ", ") + op + " " + std::to_string(count);
    if (!counts.empty())
        results.note("operator outputs compared: " + counts);
}

} // namespace octet::vectors
