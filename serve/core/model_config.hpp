#pragma once // SPDX-License-Identifier: Apache-2.0

// config.json of a model folder: how a model is served. Everything has a default, so most folders have none.

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/datatypes.hpp"
#include "core/model_file.hpp"
#include "core/scheduler.hpp"
#include "octet/network.hpp"

namespace octet::serve {

/// How a model with a past is served (sequences.hpp).
struct sequence_options {
    std::size_t most = 64;      ///< that are open at once ("max_sequences")
    dim_t most_tokens = 4096;   ///< of a sequence ("max_sequence_tokens")
    std::size_t most_bytes = 0; ///< of all keys and values ("max_cache_bytes"); 0: a quarter of the memory
    std::chrono::milliseconds idle{60'000}; ///< then a sequence ends ("max_sequence_idle_milliseconds")
};

struct model_config {
    /// Batches that run at once; 0: as many as the server has workers.
    int instances = 0;
    /// Largest batch, where rows are independent ("max_batch_size"). Larger requests of one client are refused.
    std::int64_t most_rows = 32;
    /// Sizes of batches ("preferred_batch_sizes"); none: measured when the model is loaded.
    std::vector<std::int64_t> sizes;
    /// 0: one thread a batch, or all of them for a request that is alone, where that was measured to be faster.
    int threads = 0;
    /// Number of versions that are served: the highest ones.
    int versions = 1;
    /// The queue's sizes are those of the measured or preferred batches, its instances those of above.
    queue_options queue;
    /// Digests of the model's file and of those beside it that hold its data.
    file_digests sha256;
    /// Types of inputs and outputs that clients are told, by name, instead of those that the file declares.
    std::map<std::string, const datatype *> datatypes;
    /// For .onnx models: whether a row has the same bits alone as among others
    /// (`network_options::rows_alike`); empty: as the server says. If false, requests share no batches.
    std::optional<bool> rows_alike;
    sequence_options sequences;
    /// Rule, sizes of dimensions that the file leaves open, bound of memory.
    network_options network;
};

/// Reads a config.json, of which errors name the key. Keys that it does not know are errors: a slip of the pen is not a
/// default. Throws octet::error.
model_config read_config(const std::string &text);
/// The text of a config.json in which a key has this value, and which is else the same; of an empty text,
/// too.
std::string with_key(const std::string &text, const std::string &key, const nlohmann::json &value);

} // namespace octet::serve
