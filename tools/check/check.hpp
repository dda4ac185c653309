#pragma once // SPDX-License-Identifier: Apache-2.0

// Replays a file of vectors: cases with inputs and the bytes that a framework made of them. Octet must make
// the same.
//
// Ten kinds are recognised by content: operators of TensorFlow Lite, of ONNX Runtime, those of its decoders,
// recurrent ones and those with weights in blocks, products with a dynamic source, requantization check values,
// goldens of whole networks, graphs of decoders, and graphs that probe ONNX Runtime's transformers. Start reading at
// check_file; each kind
// has a file of its own.

#include <iosfwd>
#include <string>
#include <vector>

#include "check/report.hpp"
#include "check/vector_file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::vectors {

/// The implementations that a case may run on. `ref` caps the ISA so that nothing else is chosen.
enum class implementation { any, ref, jit };

struct options {
    std::string op;      ///< replay only this operator (requantization: rule); empty: all
    std::string profile; ///< profile of networks and of TensorFlow Lite's operators; empty: the file's
    std::string isa; ///< highest level that primitives may use; empty: what the machine and environment give
    implementation impl = implementation::any;
    bool verbose = false;
    bool show_progress = false; ///< on stderr
};

/// Replays the file and reports to `out`. True if no case failed. Throws octet::error, one sentence, for a
/// file that is not what its format says and for an ISA level that this machine lacks. With an object, that gets
/// the report (report.hpp) and `out` nothing.
bool check_file(const std::string &path, const options &opt, std::ostream &out,
                tools::json *object = nullptr);

// ---- One kind of file each.

void replay_tflite_operators(const vector_file &file, const options &opt, report &results);
void replay_ort_operators(const vector_file &file, const options &opt, report &results);
void replay_attention_operators(const vector_file &file, const options &opt, report &results);
void replay_dynamic_products(const vector_file &file, const options &opt, report &results);
/// Replays one case of a recurrent operator of ONNX; false: it is no such case, or Octet lacks its operator.
bool replay_recurrent_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                           report &results);
/// Replays one case of oneDNN's LRN, shuffle or logsoftmax; false: it is no such case.
bool replay_onednn_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                        report &results);
/// Replays one case of oneDNN's recurrent networks.
void replay_rnn_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                     report &results);
void replay_recurrent(const vector_file &file, const options &opt, report &results);
void replay_nbits_operators(const vector_file &file, const options &opt, report &results);
void replay_decoder_graphs(const vector_file &file, const options &opt, report &results);
void replay_requantization(const vector_file &file, const options &opt, report &results);
void replay_models(const vector_file &file, const options &opt, report &results);
void replay_ort_graphs(const vector_file &file, const options &opt, report &results);
/// The part of a requantization file that needs no primitive: derivations and fixed-point functions.
void replay_scalar_arithmetic(const json_value &root, report &results);

// ---- What they share.

/// Fills a tensor's buffer. Throws octet::error if the sizes differ.
void write(const memory &m, byte_view bytes);
byte_view view_of(const memory &m);

/// Returns the first difference of two dense tensors: "y[17] (0,2,5): expected -12, got -11 (3 of 504
/// elements differ)"; empty if they are equal byte for byte, but for NaN as told.
std::string first_difference(const std::string &name, data_type type, const memory::dims &dims,
                             byte_view expected, byte_view got, bool any_nan_is_equal = false);

/// "(multiplier, shift)"
std::string to_text(const fixed_point_multiplier &m);

/// Empty, or why an implementation of this name does not satisfy `--impl`. `refusals` says why it was chosen.
std::string implementation_complaint(implementation wanted, const std::string &name,
                                     const std::string &refusals);
/// Empty, or why the implementation of some step of a network does not satisfy `--impl`.
std::string implementation_complaint(implementation wanted, const network &net);
/// Names of the implementations that a network's steps run on, each once.
std::string implementation_names(const network &net);

/// Whether networks may have an operator.
bool is_supported(const std::string &framework, const std::string &op);

/// One node, its inputs, and its outputs as the framework computed them.
struct operator_case {
    std::string op, name;
    model::graph graph;
    std::vector<std::pair<int, byte_view>> inputs; ///< tensor index, bytes
    /// The outputs that a runtime computed, in the order of graph.outputs.
    struct expectation {
        std::string profile; ///< empty: the framework's default
        std::vector<tensor_record> outputs;
    };
    std::vector<expectation> expected = std::vector<expectation>(1);
    bool any_nan_is_equal = false; ///< of floats, whose bits are equal else
    network_options how = {};      ///< but for the profile
    /// Not empty: the runtime computes the case wrongly, and Octet refuses it by a sentence with these words.
    std::string refusal = {};

    int add(model::tensor t); ///< to the graph; returns its index
    /// A recorded input, which is the network's unless it is a constant.
    int add_input(const tensor_record &t, bool is_constant);
    /// A recorded output, the network's next one, of the first expectation.
    int add_output(const tensor_record &t);
    /// A node, without the absent inputs behind the last one that is there.
    void add_node(model::node n);
};

/// Calls body(case, operator, name) for the file's cases whose operator is asked for.
template <typename Body> void for_cases(const vector_file &file, report &results, const Body &body) {
    for (const json_value &c : file.root()["cases"].items()) {
        const std::string op = c["op"].text(), name = c["name"].text();
        if (!results.wants(op))
            continue;
        results.begin(name);
        body(c, op, name);
    }
}

/// Runs the case under each profile and reports it: passed, failed at the first difference, or skipped where
/// Octet lacks the operator.
void replay(const operator_case &c, const options &opt, report &results);

} // namespace octet::vectors
