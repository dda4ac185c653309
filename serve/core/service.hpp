#pragma once

// What every protocol asks for: from a request with names to a job that is queued, and from its outcome to figures and a
// line of the log.

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "core/metrics.hpp"
#include "core/receive_budget.hpp"
#include "core/repository.hpp"

namespace octet::serve {

/// An input as a client gives it: bytes, or numbers that have to fit the type.
struct given_tensor {
    std::string name, datatype;
    memory::dims shape;
    std::optional<byte_range> bytes; ///< little-endian and row-major
    std::vector<double> numbers;     ///< else these
};

struct infer_request {
    std::string model, version, id;
    std::vector<given_tensor> inputs;
    std::vector<std::string> outputs;                      ///< none: all
    std::int64_t timeout_us = 0;                           ///< 0: as long as it takes
    clock::time_point deadline = clock::time_point::max(); ///< of the protocol itself
    bool wants_profile = false;
    std::shared_ptr<const void> keep; ///< what `bytes` of inputs lie in
    receive_budget::share *held =
        nullptr; ///< what `keep` takes of the memory for requests; null: it is not counted
    std::unique_ptr<receive_budget::share> numbers_held; ///< and `numbers`
    std::string trace;                                   ///< for the log
};

/// The facts in one line of the access log.
struct access {
    std::string protocol, what, model, version, id, trace, peer;
    outcome result = outcome::ok;
    double seconds = 0, queue_seconds = 0, compute_seconds = 0;
    std::int64_t batch = 0;
    std::size_t bytes_in = 0, bytes_out = 0;
};

struct service_options {
    bool may_change_models = false; ///< the protocol's load and unload
    bool may_profile = false;       ///< parameter "profile"
    std::size_t most_body_bytes = std::size_t(64) << 20;
    std::function<void(const access &)> log; ///< may be empty
};

class service {
public:
    service(scheduler &s, repository &r, metrics &m, service_options o)
        : models(r), figures(m), options(std::move(o)), scheduler_(s) {}

    repository &models;
    metrics &figures;
    const service_options options;

    /// A request that waits or runs.
    struct call {
        std::shared_ptr<served_model> model;
        std::shared_ptr<job> work;
        std::string id, trace;
    };
    using answer = std::function<void(const std::shared_ptr<const call> &)>;

    /// Checks and queues. `done` is called once, from any thread, also where this throws nothing and the job fails.
    /// Throws refusal; then `done` is never called.
    std::shared_ptr<const call> infer(infer_request &&request, const std::string &protocol, answer done);
    /// The client has left.
    void cancel(const call &c) { withdraw(c, outcome::cancelled, "the client has left"); }
    void expire(const call &c) { withdraw(c, outcome::expired, "its time is over"); }
    /// Counts and logs one that reached no queue.
    void refused(const std::string &protocol, const std::string &what, const refusal &r,
                 const std::string &model = "", const std::string &trace = "");

    bool is_ready() const { return models.is_loaded() && !is_leaving_; }
    /// Not ready from now on, so that balancers send their requests elsewhere; those that come are served.
    void leave() { is_leaving_ = true; }
    /// Takes no more requests; those that were accepted are finished.
    void stop() { is_leaving_ = is_stopping_ = true; }
    int retry_after(const std::string &model) const;
    /// Throws refusal where clients may not load and unload.
    void require_changes() const;

private:
    void withdraw(const call &c, outcome o, const char *why) { scheduler_.withdraw(c.work, o, why); }
    std::shared_ptr<job> make_job(const served_model &m, infer_request &request) const;
    void finished(const call &c, const std::string &protocol) const;

    scheduler &scheduler_;
    std::atomic<bool> is_leaving_{false}, is_stopping_{false};
};

} // namespace octet::serve
