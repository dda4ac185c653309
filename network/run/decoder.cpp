// The handles of decoders and sequences.
// SPDX-License-Identifier: Apache-2.0
#include "octet/decoder.hpp"

#include "network/graph/graph.hpp"
#include "network/run/decoder_runs.hpp"

namespace octet {
inline namespace v0 {

sequence::sequence(std::unique_ptr<model::sequence_memory> m) : memory_(std::move(m)) {}
sequence::~sequence() = default;
sequence::sequence(sequence &&) noexcept = default;
sequence &sequence::operator=(sequence &&) noexcept = default;

dim_t sequence::size() const { return memory_->size(); }
dim_t sequence::capacity() const { return memory_->layout()->capacity(); }
std::size_t sequence::bytes() const { return memory_->layout()->bytes_of(size()); }

void sequence::truncate(dim_t size) {
    if (size < 0 || size > this->size())
        model::refuse("size is " + std::to_string(size) + ", allowed: 0 to " + std::to_string(this->size()) +
                      ", the tokens of the sequence");
    memory_->truncate(size);
}

sequence sequence::fork() { return sequence(memory_->fork()); }

decoder::decoder(std::unique_ptr<model::decoder_runs> r) : runs_(std::move(r)) {}
decoder::decoder(model::graph g, const decoder_options &options)
    : decoder(std::make_unique<model::decoder_runs>(std::move(g), options)) {}
decoder::~decoder() = default;
decoder::decoder(decoder &&) noexcept = default;
decoder &decoder::operator=(decoder &&) noexcept = default;

decoder decoder::new_context() const { return decoder(std::make_unique<model::decoder_runs>(*runs_)); }

sequence decoder::new_sequence() const { return sequence(runs_->new_sequence()); }

std::vector<float> decoder::run(sequence &of, const std::vector<std::int32_t> &tokens) {
    return std::move(runs_->run({{of.memory_.get(), &tokens, false}}).front());
}

std::vector<std::vector<float>> decoder::run(const std::vector<turn> &turns) {
    std::vector<model::decoder_runs::turn> inner;
    for (const turn &t : turns)
        inner.push_back({t.of ? t.of->memory_.get() : nullptr, &t.tokens, t.wants_all});
    return runs_->run(inner);
}

std::size_t decoder::bytes_of(dim_t tokens) const { return runs_->layout().bytes_of(tokens); }
std::size_t decoder::weight_bytes() const { return runs_->weight_bytes(); }

} // namespace v0
} // namespace octet
