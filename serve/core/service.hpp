#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of all protocols: from a request with names to a job that is queued, and from its outcome
// to figures and a line of the log.

#include <atomic>
#include <optional>
#include <string>

#include "core/background.hpp"
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

/// The protocol's extensions that the server has.
constexpr const char *extensions[] = {
    "binary_tensor_data", "model_repository", "model_configuration", "statistics", "classification",
    "schedule_policy",    "sequence"};
/// Parameters that both protocols have, of a request and of its outputs.
inline const std::vector<std::string> parameters_of_request = {"timeout",     "priority",
                                                               "profile",     "binary_data_output",
                                                               "sequence_id", "sequence_start",
                                                               "sequence_end"},
                                      parameters_of_output = {"datatype", "classification", "binary_data"};
/// Throws refusal for one that is not among them: what a client asks for is done, or it is told.
void check_parameter(const std::string &name, const std::vector<std::string> &allowed);

/// An output as a client asks for it.
struct asked_output {
    std::string name, datatype;          ///< "": floats for a request in floats, else as it is announced
    std::optional<std::int64_t> classes; ///< how many of the largest elements instead
};

struct infer_request {
    std::string model, version, id;
    std::vector<given_tensor> inputs;
    std::vector<asked_output> outputs;                     ///< none: all
    std::int64_t timeout_us = 0;                           ///< 0: as long as it takes
    clock::time_point deadline = clock::time_point::max(); ///< the protocol's own deadline
    bool wants_profile = false;
    std::int64_t priority = 0; ///< 0: the usual one
    sequence_place sequence;
    std::shared_ptr<const void> keep; ///< owner of the bytes of `inputs`
    receive_budget::share *held =
        nullptr; ///< what `keep` takes of the memory for requests; null: it is not counted
    std::unique_ptr<receive_budget::share> numbers_held; ///< and `numbers`
    std::string trace, peer;                             ///< for the log
};

/// Whether this is a traceparent header of W3C's Trace Context.
bool is_traceparent(std::string_view text);

/// The facts in one line of the access log.
struct access {
    std::string protocol, what, model, version, id, trace, peer;
    outcome result = outcome::ok;
    int status = 0; ///< the protocol's
    double seconds = 0, queue_seconds = 0, compute_seconds = 0;
    std::int64_t batch = 0;
    std::size_t bytes_in = 0, bytes_out = 0;
};

struct service_options {
    bool may_change_models = false; ///< the protocol's load and unload
    bool may_profile = false;       ///< parameter "profile"
    std::size_t most_body_bytes = std::size_t(64) << 20;
    int readers = 1;                         ///< threads for requests that take long to read
    std::function<void(const access &)> log; ///< may be empty
    std::function<std::string()> figures;    ///< returns the present figures, in Prometheus' text
};

class service {
public:
    service(scheduler &s, repository &r, metrics &m, service_options o)
        : models(r), figures(m), options(std::move(o)), readers(options.readers), changes(1), scheduler_(s) {}

    repository &models;
    metrics &figures;
    const service_options options;
    background readers, changes; ///< reading large requests; loading and unloading, one after the other

    /// A request that waits or runs. One without `work` is read, or is no inference.
    struct call {
        std::shared_ptr<served_model> model;
        std::shared_ptr<job> work;
        std::string id, trace, peer;
    };
    using answer = std::function<void(const std::shared_ptr<const call> &)>;

    /// Checks and queues. `done` is called once, from any thread, also where this throws nothing and the job fails.
    /// Throws refusal; then `done` is never called.
    std::shared_ptr<const call> infer(infer_request &&request, const std::string &protocol,
                                      const answer &done);
    /// The client has left.
    void cancel(const call &c);
    void expire(const call &c) { withdraw(c, outcome::expired, "its time is over"); }
    static std::shared_ptr<const call> call_without_work() {
        static const auto one = std::make_shared<const call>();
        return one;
    }
    /// Counts and logs one that reached no queue. `line` says who asked what.
    void refused(access line, const refusal &r);

    /// Returns whether all models that were asked for are served, and the server is not stopping.
    bool is_ready() const { return models.is_loaded() && models.is_complete() && !is_leaving_; }
    /// Whether a model, or its version, is ready. Throws refusal if there is none.
    bool is_ready(const std::string &model, const std::string &version) const;
    /// Not ready from now on, so that balancers send their requests elsewhere; those that come are served.
    void leave() { is_leaving_ = true; }
    /// Takes no more requests; those that were accepted are finished.
    void stop() { is_leaving_ = is_stopping_ = true; }
    int retry_after(const std::string &model) const;
    /// Throws refusal where clients may not load and unload.
    void require_changes() const;

private:
    void withdraw(const call &c, outcome o, const char *why) { scheduler_.withdraw(c.work, o, why); }
    /// Leaves the request as it is, so that it can be asked of another version.
    std::shared_ptr<job> make_job(const served_model &m, const infer_request &request) const;
    byte_range input_of(const tensor_info &t, const given_tensor &given, const infer_request &request,
                        std::vector<std::vector<std::byte>> &buffers) const;
    /// `floats` is the datatype of numbers that the request has for codes, null if it has none.
    static wanted_output output_of(const served_model &m, const asked_output &asked, const datatype *floats);
    void finished(const call &c, const std::string &protocol) const;

    scheduler &scheduler_;
    std::atomic<bool> is_leaving_{false}, is_stopping_{false};
};

} // namespace octet::serve
