#pragma once // SPDX-License-Identifier: Apache-2.0

// The settings of a session: the provider's own options, and the session's entries that decide its
// arithmetic.

#include <cstddef>
#include <string>

#include "onnxruntime/runtime.hpp"

namespace octet::onnxruntime {

inline constexpr const char *provider_name = "OctetExecutionProvider";

/// The parts that are claimed, among those that Octet can run.
enum class claim_kind {
    quantized, ///< computed with codes, with ONNX Runtime's bytes
    all        ///< floats, too, even if the last bits of sums differ
};

struct session_settings {
    int threads = 0; ///< 0: as the process has it
    claim_kind claim = claim_kind::quantized;
    bool log = false;                  ///< tells what is claimed and what is not
    std::size_t memory_limit = 0;      ///< limit for each part's network; 0: none
    std::size_t minimum = 3;           ///< nodes of a part that multiplies no codes
    std::string profile;               ///< as in network_options
    std::string nbits = "onnxruntime"; ///< likewise
    bool rows_alike = false;           ///< likewise
    std::string cache_dir;             ///< directory in which plans are kept for later sessions; empty: none

    // Entries of the session:
    bool signed_pairs = false;        ///< computes pairs in s8 as they are: session.qdqisint8allowed
    std::int64_t nbits_level = 4;     ///< session.qdq_matmulnbits_accuracy_level
    std::int64_t nbits_block = 0;     ///< session.qdq_matmulnbits_block_size
    bool pairs_stay = false;          ///< computes pairs on floats: session.disable_quant_qdq
    bool wants_context_model = false; ///< a compiled model is written: ep.context_enable
    bool embeds_context = false;      ///< with its plans inside: ep.context_embed_mode
    std::string context_path;         ///< path of that model: ep.context_file_path
};

/// Reads the entries of a session. Throws octet::error for an option that there is not or a value that it cannot have.
session_settings read_settings(const runtime &ort, const ort_session_options *options);

} // namespace octet::onnxruntime
