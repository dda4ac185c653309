#pragma once // SPDX-License-Identifier: Apache-2.0

// Plans that outlive the session: compiled models, whose nodes EPContext stand for parts that Octet has
// compiled, and the cache of option `cache_dir`. Both hold what octet::network saves; it is checked before it
// runs.

#include <functional>
#include <string>
#include <vector>

#include "octet/network.hpp"
#include "onnxruntime/graph.hpp"
#include "onnxruntime/options.hpp"

namespace octet::onnxruntime {

// ---- Compiled models

/// Whether a node stands for a part that this provider has compiled.
bool is_compiled(const node &n);

/// The plan of such a node, of a model in this folder ("" for a model that is in no file). Throws
/// octet::error, a sentence with the plan's file, for one that is not there, is another one than was written
/// with the model, or is not for this machine.
model::graph read_compiled(const node &n, const std::string &folder);

/// Writes models in which each part is a node EPContext, with its plan inside (`ep.context_embed_mode` = 1)
/// or in a file beside the model.
class compiled_model {
public:
    /// `model_path`: of the model that is compiled, "" if it is in no file.
    compiled_model(const runtime &ort, const session_settings &settings, const std::string &model_path);

    /// The node for a part, which the caller owns; writes the plan's file, with the part's `number` in its
    /// name. `fused` is the part's name in ONNX Runtime.
    ort_node *node_of(const network &net, std::size_t number, const std::string &fused,
                      const std::vector<std::string> &inputs, const std::vector<std::string> &outputs) const;

private:
    const runtime &ort_;
    bool is_embedded_;
    std::string folder_, stem_; ///< of the compiled model's path
};

/// Returns the description of the machine that a compiled model is for: Octet's version and the instruction
/// set.
std::string compatibility();
/// Whether models of which `told` is such a text run here, by the numbers of `ort_compatibility`.
int compatibility_with(const std::string &told);

// ---- The cache

/// The network of a part: from the cache's file of this graph, or made of the graph and, once `keep` is
/// called, put there.
class cached_network {
public:
    /// `tell` gets a sentence where a file cannot be used, and is replaced, or cannot be written.
    cached_network(const session_settings &settings, std::function<void(const std::string &)> tell)
        : settings_(settings), tell_(std::move(tell)) {}

    /// Throws octet::error where no network can be made.
    network make(model::graph g, const network_options &options);
    bool is_from_file() const { return is_from_file_; } ///< the last one
    void keep(const network &net) const;

private:
    const session_settings &settings_;
    std::function<void(const std::string &)> tell_;
    std::string path_;
    bool is_from_file_ = false;
};

} // namespace octet::onnxruntime
