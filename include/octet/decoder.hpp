#pragma once // SPDX-License-Identifier: Apache-2.0

// Decoders: networks that append to a past, and the pasts of any number of sequences.
//
//     octet::decoder model("decoder.onnx");
//     octet::sequence text = model.new_sequence();
//     const std::vector<float> logits = model.run(text, {1, 15, 7}); // behind the token 7
//
// The network has the inputs `input_ids` and `attention_mask`, perhaps `position_ids`, `total_sequence_length`
// and `past_sequence_length`, pasts to which an operator of attention appends, and the output `logits`, as
// ONNX Runtime GenAI's model builder writes it. Keys and values
// of a sequence lie where they are, with room for `decoder_options::capacity` tokens; a run writes those of
// new tokens behind them and copies nothing. A few plans, for 1 token of 1, 2, 4, … sequences and for 16, 64,
// 256 and 512 tokens of one, serve all lengths. Single rows are summed up as several are
// (`network_options::rows_alike`), so the logits of a sequence depend neither on the others that run with it
// nor on how its tokens are cut into runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octet/network.hpp"

namespace octet {
inline namespace v0 {

/// \cond What these classes consist of.
namespace model {
class decoder_runs;
class sequence_memory;
} // namespace model
/// \endcond

/// Options of making a decoder.
struct decoder_options {
    /// Sizes must not be set, `rows_alike` is. `memory_limit` counts no pasts.
    network_options network = {};
    /// Tokens that a sequence can have, rounded up to whole chunks and pages. They take addresses, and memory only
    /// as far as there are tokens. A network with tables of positions has a row there for each of them.
    dim_t capacity = 4096;
};

/// The tokens that a decoder has run one after the other: their keys and values. One thread at a time may use
/// it. It may outlive its decoder.
class OCTET_API sequence {
public:
    ~sequence(); ///< frees its memory at once
    /// A sequence that was moved from can only be destroyed or assigned to.
    ///@{
    sequence(sequence &&) noexcept;
    sequence &operator=(sequence &&) noexcept;
    ///@}

    dim_t size() const;     ///< tokens so far
    dim_t capacity() const; ///< most tokens
    /// Bytes that its keys and values take, in whole pages of memory, also those that it shares with others.
    std::size_t bytes() const;

    /// Forgets all tokens but the first ones; 0: all. Throws octet::error for a size beyond the present one.
    void truncate(dim_t size);

    /// Returns a sequence with the same tokens. What both have stays in common memory, and each goes on for
    /// itself. The first fork after a run copies the sequence once, further ones copy nothing.
    sequence fork();

private:
    friend class decoder;
    explicit sequence(std::unique_ptr<model::sequence_memory> m);
    std::unique_ptr<model::sequence_memory> memory_;
};

/// A network with a past. Can be moved, not copied. One thread at a time may use it; each further thread takes
/// a context (`new_context`).
class OCTET_API decoder {
public:
    /// Reads an .onnx file, or a file that `network::save` wrote. Throws octet::error, which names the input
    /// or output, for a network that is no such decoder. Plans are made when they are first needed.
    explicit decoder(const std::string &path, const decoder_options &options = {});
    /// The same for a graph in memory.
    explicit decoder(model::graph g, const decoder_options &options = {});
    ~decoder();
    /// A decoder that was moved from can only be destroyed or assigned to.
    ///@{
    decoder(decoder &&) noexcept;
    decoder &operator=(decoder &&) noexcept;
    ///@}

    /// Returns another one of the same plans and weights; sequences can be run by either.
    decoder new_context() const;

    /// Returns a sequence of no tokens. Throws octet::error with status out_of_memory.
    sequence new_sequence() const;

    /// Appends tokens, one at least. Returns the logits behind the last one.
    std::vector<float> run(sequence &of, const std::vector<std::int32_t> &tokens);

    /// Tokens for a sequence.
    struct turn {
        sequence *of = nullptr;                ///< gets the tokens
        std::vector<std::int32_t> tokens = {}; ///< one at least
        bool wants_all = false; ///< logits behind each of the tokens, not only behind the last one
    };
    /// Appends tokens to several sequences; single ones run together. Returns the logits, rows of
    /// `vocabulary` floats, of each turn. Throws octet::error where a sequence occurs twice or is another
    /// network's, has no room, or a turn has no tokens; then, and if the run fails, no sequence has changed.
    std::vector<std::vector<float>> run(const std::vector<turn> &turns);

    /// Bytes that keys and values of so many tokens of a sequence take, in whole pages of memory.
    std::size_t bytes_of(dim_t tokens) const;
    /// Bytes of packed weights, which contexts share.
    std::size_t weight_bytes() const;

private:
    explicit decoder(std::unique_ptr<model::decoder_runs> r);
    std::unique_ptr<model::decoder_runs> runs_;
};

} // namespace v0
} // namespace octet
