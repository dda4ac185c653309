// Whole .onnx models that probe which patterns ONNX Runtime recognizes and in which order: a case names a
// model and a .npz of its inputs and outputs, both beside the JSON file. Compared are all bytes of all
// outputs (a NaN is a NaN), which transformers changed the graph at which step, and which operators are left.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "base/files.hpp"
#include "check/check.hpp"
#include "files/npz.hpp"

namespace octet::vectors {
namespace {

class graph_replay {
public:
    graph_replay(const json_value &c, const vector_file &file, const options &opt) : case_(c), opt_(opt) {
        const std::string name = c["file"].text(), arrays = file.beside(name + ".npz").string();
        model_ = file.beside(name + ".onnx").string();
        arrays_ = tools::parse_npz(tools::read_file(arrays), arrays);
    }

    void replay(report &results) const {
        const std::string name = case_["name"].text(), group = name.substr(0, name.find('/'));
        if (!results.wants(group))
            return;
        results.begin(name);
        try {
            network net = load();
            std::string complaint = implementation_complaint(opt_.impl, net);
            if (complaint.empty())
                complaint = run(net);
            if (complaint.empty())
                complaint = compare_passes(net);
            if (complaint.empty())
                complaint = compare_operators(net);
            results.judge(group, name, complaint, implementation_names(net));
        } catch (const malformed_file &) {
            throw;
        } catch (const error &e) {
            results.fail(group, name, e.what());
        }
    }

private:
    const tools::array &find(const std::string &name) const {
        for (const auto &[key, value] : arrays_)
            if (key == name)
                return value;
        case_["file"].fail("names a .npz without '" + name + "'");
    }

    network load() const {
        network_options options;
        for (const json_value &input : case_["inputs"].items()) {
            const std::string name = input["name"].text();
            options.shapes[name] = find("in_" + name).dims;
        }
        if (case_.has("session")) { // entries that ONNX Runtime had
            options.qdq_nbits_level = case_["session"]["qdq_matmulnbits_accuracy_level"].as<std::int64_t>();
            options.qdq_nbits_block = case_["session"]["qdq_matmulnbits_block_size"].as<std::int64_t>();
        }
        return network(model_, options);
    }

    /// Empty, or the first output that is wrong.
    std::string run(network &net) const {
        for (const json_value &input : case_["inputs"].items())
            fill(net.input(input["name"].text()), find("in_" + input["name"].text()));
        net.run();
        const std::vector<json_value> outputs = case_["outputs"].items();
        for (std::size_t i = 0; i < outputs.size(); i++) {
            const std::string name = outputs[i]["name"].text();
            const std::string complaint = difference(name, net.output(i), find("out_" + name));
            if (!complaint.empty())
                return complaint;
        }
        return {};
    }

    /// Compares the transformers that changed the graph, as far as they decide on bytes or operators. The
    /// others share constants, fold them, and change layouts, which Octet does in other ways.
    std::string compare_passes(const network &net) const {
        if (!case_.has("fired"))
            return {};
        const auto decisive = [](const std::string &pass) {
            static const std::set<std::string> others = {"CommonSubexpressionElimination",
                                                         "ConstantFolding",
                                                         "ConstantSharing",
                                                         "FunctionInlining",
                                                         "NchwcTransformer",
                                                         "NhwcTransformer",
                                                         "ConvAddActivationFusion",
                                                         "EnsureUniqueDQForNodeUnit"};
            return others.count(pass.substr(pass.find(' ') + 1)) == 0;
        };
        std::vector<std::string> expected = texts("fired"), got;
        std::copy_if(net.passes().begin(), net.passes().end(), std::back_inserter(got), decisive);
        expected.erase(std::remove_if(expected.begin(), expected.end(), std::not_fn(decisive)),
                       expected.end());
        return got == expected ? "" : "passes: " + joined(got) + ", expected: " + joined(expected);
    }

    /// Compares the operators that are left, in any order. Operators of level 3 are layouts, which are
    /// Octet's own. INT64 has 32 bits here, so that a mask or indices need no Cast. A network is made for the
    /// sizes of its inputs, so that none computes with a Shape.
    std::string compare_operators(const network &net) const {
        std::vector<std::string> expected = texts("optimized"), got = net.operators_left();
        const std::vector<std::string> fired = texts("fired");
        if (expected.empty() || std::any_of(fired.begin(), fired.end(), [](const std::string &pass) {
                return pass.compare(0, 3, "L3.") == 0;
            }))
            return {};
        for (const char *const op : {"Attention", "EmbedLayerNormalization"})
            if (std::count(got.begin(), got.end(), op) != 0)
                for (std::vector<std::string> *const all : {&expected, &got})
                    all->erase(std::remove(all->begin(), all->end(), "Cast"), all->end());
        std::sort(expected.begin(), expected.end());
        std::sort(got.begin(), got.end());
        if (std::count(expected.begin(), expected.end(), "Shape") != 0)
            drop_sizes(expected, got);
        return got == expected ? "" : "operators: " + joined(got) + ", expected: " + joined(expected);
    }

    /// Both are sorted. A Transpose may be there for a Shape alone.
    static void drop_sizes(std::vector<std::string> &expected, const std::vector<std::string> &got) {
        static const std::set<std::string> of_sizes = {
            "Shape", "Gather", "Concat", "Slice",   "Squeeze",         "Unsqueeze", "Cast",  "Transpose",
            "Sub",   "Expand", "Range",  "NonZero", "ConstantOfShape", "Sqrt",      "Equal", "Where"};
        std::vector<std::string> more;
        std::set_difference(expected.begin(), expected.end(), got.begin(), got.end(),
                            std::back_inserter(more));
        if (std::all_of(more.begin(), more.end(),
                        [](const std::string &op) { return of_sizes.count(op) != 0; }) &&
            expected.size() == got.size() + more.size())
            expected = got;
    }

    std::vector<std::string> texts(const char *key) const {
        std::vector<std::string> all;
        if (case_.has(key))
            for (const json_value &text : case_[key].items())
                all.push_back(text.text());
        return all;
    }
    static std::string joined(const std::vector<std::string> &names) {
        std::string all;
        for (const std::string &name : names)
            all += (all.empty() ? "" : ", ") + name;
        return all.empty() ? "none" : all;
    }

    /// An array as elements of a tensor, which may have fewer bits.
    static std::vector<std::uint8_t> elements_of(const tools::array &a, const tensor_view &like) {
        model::tensor wanted;
        wanted.type = like.data_type();
        wanted.dims = like.dims();
        return tools::values_for(a, {wanted, "onnx", like.text()}, like.name()).bytes;
    }

    static void fill(const tensor_view &input, const tools::array &a) {
        const std::vector<std::uint8_t> bytes = elements_of(a, input);
        input.copy_bytes_from(bytes.data(), bytes.size());
    }

    static std::string difference(const std::string &name, const tensor_view &got,
                                  const tools::array &expected) {
        const std::vector<std::uint8_t> bytes = elements_of(expected, got);
        const bool any_nan_is_equal = true;
        return first_difference(name, got.data_type(), got.dims(), {bytes.data(), bytes.size()},
                                view_of(got.get_memory()), any_nan_is_equal);
    }

    const json_value &case_;
    const options &opt_;
    std::string model_;
    tools::named_arrays arrays_;
};

} // namespace

void replay_ort_graphs(const vector_file &file, const options &opt, report &results) {
    for (const json_value &c : file.root()["cases"].items())
        graph_replay(c, file, opt).replay(results);
}

} // namespace octet::vectors
