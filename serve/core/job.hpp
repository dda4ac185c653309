#pragma once // SPDX-License-Identifier: Apache-2.0

// One request on its way: what it asks, as the protocols have checked it, and what became of it. It knows no
// protocol, and the scheduler that queues it knows no network.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/receive_budget.hpp"

namespace octet::serve {

using clock = std::chrono::steady_clock;

/// How a request ended; each protocol has a code for each.
enum class outcome {
    ok,
    invalid,      ///< the request contradicts itself or the model
    unauthorized, ///< no token, or a wrong one
    forbidden,    ///< the server was told not to do that
    not_found,    ///< no such model, version or path
    too_large,    ///< beyond a limit
    overloaded,   ///< bounds of the queue: later, or elsewhere
    unavailable,  ///< not ready, or stopping
    expired,      ///< its time was over before it ran
    cancelled,    ///< the client has left
    failed        ///< everything else
};
constexpr int outcome_count = static_cast<int>(outcome::failed) + 1;

/// The name and the status codes of an outcome, for metrics, logs and protocols.
struct outcome_facts {
    const char *name;
    int http, grpc; ///< status of HTTP, code of gRPC
};
const outcome_facts &facts_of(outcome o);
inline const char *to_string(outcome o) { return facts_of(o).name; }

/// A request that ends before it is queued.
struct refusal : std::runtime_error {
    refusal(outcome o, const std::string &sentence, int status = 0, const char *allow = nullptr)
        : std::runtime_error(sentence), why(o), http_status(status ? status : facts_of(o).http),
          allowed(allow) {}
    outcome why;
    int http_status;
    const char *allowed;     ///< methods, where another one was asked for
    bool is_counted = false; ///< in the figures of a model
};

constexpr std::size_t most_id_bytes = 1024; ///< bound of the name that a client gives to its request

/// A text that a client has sent, as a part of a sentence: not more than a hundred bytes of it, and none that
/// moves a cursor.
inline std::string shown(std::string text) {
    constexpr std::size_t most = 100;
    if (text.size() > most)
        text = text.substr(0, most - 3) + "...";
    for (char &c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            c = '?';
    return text;
}

/// A range of bytes of somebody else's.
struct byte_range {
    const std::byte *data = nullptr;
    std::size_t size = 0;
};

class job_queue;
struct datatype;

/// An output as a request wants it.
struct wanted_output {
    std::size_t index = 0;          ///< among the model's
    const datatype *type = nullptr; ///< type of its elements
    std::int64_t classes = 0;       ///< how many of its largest elements instead; 0: all of it
};

/// The place of a request in a sequence of requests, as Triton's extension has it.
struct sequence_place {
    std::int64_t id = 0; ///< 0: it is in none
    bool starts = false, ends = false;
};

constexpr int usual_priority = 2, lowest_priority = 3;

struct job {
    // ---- The request
    std::vector<byte_range> inputs;   ///< dense and row-major, in the model's order
    std::shared_ptr<const void> keep; ///< owner of the inputs' bytes
    std::int64_t rows = 1;            ///< first dimension of the inputs, where the model batches
    std::string shapes;               ///< only jobs with equal text are batched together
    std::size_t bytes = 0;            ///< bytes of the inputs, for the bounds
    std::vector<wanted_output> wanted;
    clock::time_point deadline = clock::time_point::max();
    bool wants_profile = false;           ///< runs alone, then
    sequence_place sequence;              ///< of a model with a past
    int priority = usual_priority;        ///< 1 goes first
    std::function<void(job &)> when_done; ///< called once, from any thread

    // ---- What became of it
    outcome result = outcome::ok;
    std::string sentence; ///< why it failed
    /// The reply's share of memory; null: it is not counted.
    std::unique_ptr<receive_budget::share> reply_held;
    std::vector<std::byte> storage;                ///< memory of the outputs
    std::vector<byte_range> outputs;               ///< as `wanted`
    std::vector<std::vector<std::byte>> presented; ///< outputs that were converted to another form
    std::vector<std::vector<std::int64_t>> output_dims;
    clock::time_point queued, started, finished;
    std::int64_t batch = 0; ///< rows that ran together
    std::string profile;    ///< JSON, if wanted

    // ---- The scheduler's own
    job_queue *waits_in = nullptr;
    std::list<std::shared_ptr<job>>::iterator place;

    void finish(outcome o, std::string why = {}) {
        result = o;
        sentence = std::move(why);
        finished = clock::now();
        const auto tell = std::move(when_done); // `when_done` holds the job
        when_done = nullptr;
        try {
            tell(*this);
        } catch (const std::bad_alloc &) { // for the answer: its client waits in vain, all others are served
        }
    }
};

} // namespace octet::serve
