#pragma once // SPDX-License-Identifier: Apache-2.0

// Sequences of a decoder, as Triton's extension has them: a request names its sequence and brings the tokens that
// follow, the answer has the logits behind the last one. What waits runs together; the answers are those of each
// sequence alone.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/job.hpp"
#include "core/model_config.hpp"
#include "octet/decoder.hpp"

namespace octet::serve {

class served_sequences {
public:
    /// Null for a model that is none of this kind, or whose configuration says sizes or `rows_alike` = false.
    static std::unique_ptr<served_sequences> make(const model::graph &g, const model_config &config,
                                                  const network_options &options);

    std::int64_t vocabulary() const { return vocabulary_; }
    std::size_t weight_bytes() const { return decoder_.weight_bytes(); }
    double seconds_per_step() const { return seconds_per_step_; }

    /// Throws refusal for a request that no sequence can have. `tokens`: the shape of its input.
    void check(const job &j, const memory::dims &tokens) const;
    /// From one thread at a time.
    void run(const std::vector<std::shared_ptr<job>> &batch);
    /// Frees a sequence, at once or when its step is over; from any thread.
    void cancel(std::int64_t id);

    std::size_t bytes() const; ///< of keys and values

private:
    struct entry {
        sequence tokens;
        clock::time_point used;
        std::size_t bytes = 0; ///< as far as its last request needs them
        bool is_running = false, is_over = false;
    };
    using entries = std::map<std::int64_t, entry>;
    using jobs = std::vector<std::shared_ptr<job>>;

    served_sequences(decoder d, const sequence_options &options);
    void warm();
    void run_round(const jobs &round);
    /// Under the mutex. Throws refusal.
    entry &entry_for(const job &j);
    void run_turns(const jobs &round, std::vector<decoder::turn> &turns);
    static void answer(job &j, const std::vector<float> &logits, std::int64_t width);

    decoder decoder_;
    const sequence_options options_;
    std::int64_t vocabulary_ = 0;
    double seconds_per_step_ = 0;
    mutable std::mutex mutex_; ///< of what follows
    entries entries_;
};

} // namespace octet::serve
