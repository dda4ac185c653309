// Graphs of decoders with weights in blocks, as exporters write them: inputs, outputs and the results of all nodes
// as ONNX Runtime computed them. Compared are all outputs, and the result of each node that the network still has.
// SPDX-License-Identifier: Apache-2.0
#include <list>

#include "check/check.hpp"

namespace octet::vectors {
namespace {

class decoder_replay {
public:
    decoder_replay(const json_value &g, const std::vector<std::uint8_t> &blob) : graph_(g), blob_(blob) {}

    void replay(const vector_file &file, const options &opt, report &results) {
        const std::string name = graph_["name"].text();
        if (!results.wants(name))
            return;
        results.begin(name);
        try {
            network_options how;
            for (const std::string &input : graph_["inputs"].keys())
                how.shapes[input] = read(graph_["inputs"], input).dims;
            network net(file.beside(graph_["file"].text()).string(), how);
            std::string complaint = implementation_complaint(opt.impl, net);
            if (complaint.empty())
                complaint = run(net);
            results.judge(name, name, complaint, implementation_names(net));
        } catch (const malformed_file &) {
            throw;
        } catch (const error &e) {
            if (e.status == status::unimplemented)
                results.skip(name, name, e.what());
            else
                results.fail(name, name, e.what());
        }
    }

private:
    tensor_record read(const json_value &records, const std::string &name) {
        return read_wide_tensor(records[name.c_str()], blob_, copies_);
    }

    static std::string difference(const std::string &name, const tensor_record &expected,
                                  const tensor_view &got) {
        if (got.data_type() != expected.type || got.dims() != expected.dims)
            return name + " is " + got.text() + ", expected: " + to_string(expected.type) + " " +
                   model::to_text(expected.dims);
        constexpr bool any_nan_is_equal = true;
        return first_difference(name, expected.type, expected.dims, expected.bytes, view_of(got.get_memory()),
                                any_nan_is_equal);
    }

    /// Empty, or the first result that is wrong.
    std::string run(network &net) {
        for (const std::string &input : graph_["inputs"].keys()) {
            const tensor_record x = read(graph_["inputs"], input);
            net.input(input).copy_bytes_from(x.bytes.data, x.bytes.size);
        }
        std::string complaint;
        const json_value taps = graph_["taps"];
        net.run([&](std::size_t n, double) {
            for (const int t : net.get_graph().nodes[n].outputs)
                if (const std::string name = t < 0 ? "" : net.tensor(t).name();
                    complaint.empty() && !name.empty() && taps.has(name.c_str()))
                    complaint = difference(name, read(taps, name), net.tensor(t));
        });
        for (const std::string &output : graph_["outputs"].keys())
            if (complaint.empty())
                complaint = difference(output, read(graph_["outputs"], output), net.output(output));
        return complaint;
    }

    const json_value graph_;
    const std::vector<std::uint8_t> &blob_;
    std::list<std::vector<std::uint8_t>> copies_;
};

} // namespace

void replay_decoder_graphs(const vector_file &file, const options &opt, report &results) {
    const std::vector<std::uint8_t> blob = file.read_blob();
    for (const json_value &g : file.root()["graphs"].items())
        decoder_replay(g, blob).replay(file, opt, results);
}

} // namespace octet::vectors
