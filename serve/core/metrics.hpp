#pragma once // SPDX-License-Identifier: Apache-2.0

// The figures that operators watch, in Prometheus' terms. doc/serving.md lists the names, which dashboards
// rely on: they stay.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "core/job.hpp"

namespace octet::serve {

struct duration_sum {
    std::uint64_t count = 0, nanoseconds = 0;
    void add(double seconds, std::uint64_t times = 1) {
        count += times;
        nanoseconds += static_cast<std::uint64_t>(1e9 * seconds * static_cast<double>(times));
    }
};

/// The figures of the protocol's statistics extension.
struct model_statistics {
    std::uint64_t last_milliseconds = 0; ///< since 1970, of the last inference
    std::uint64_t rows = 0, executions = 0;
    duration_sum success, failure, queue, computing;
    std::map<std::int64_t, duration_sum> batches; ///< by rows
};

/// Figures of one version of a model; its rows go with it.
class model_metrics {
public:
    void count(outcome o);
    /// A request that was queued and is finished.
    void finished(const job &j);
    /// A batch of these jobs ran.
    void ran(std::int64_t batch_rows, std::size_t jobs, double seconds);
    /// Sets the utilisation since the last look, from seconds of computing so far.
    void look(double computed, int instances);
    model_statistics statistics() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return statistics_;
    }
    prometheus::Counter *rows, *bytes_in, *bytes_out;
    prometheus::Histogram *queue_seconds, *compute_seconds, *request_seconds, *batch_rows;
    prometheus::Gauge *waiting, *running, *oldest_seconds, *utilisation, *buffer_bytes, *weight_bytes, *ready;

private:
    friend class metrics;
    mutable std::mutex mutex_; ///< guards the statistics
    model_statistics statistics_;
    double computed_ = 0; ///< at the last look
    clock::time_point last_look_ = clock::now();
    prometheus::Counter *by_outcome_[outcome_count];
};

class metrics {
public:
    metrics();
    /// The figures of a version; of one that is served again while requests of before still run, the same ones.
    std::shared_ptr<model_metrics> of_model(const std::string &name, const std::string &version);
    /// Requests that reached no model.
    void count_other(outcome o);
    prometheus::Gauge &connections(const std::string &protocol);
    prometheus::Counter &reloads(bool is_good);
    void set_lost_lines(std::uint64_t all);
    /// Text of Prometheus' format.
    std::string text();

private:
    using key = std::pair<std::string, std::string>; ///< model and version
    struct one {
        std::weak_ptr<model_metrics> shared;
        const model_metrics *address; ///< also when nobody shares it any more
    };
    void remove(const key &k, model_metrics *m);

    prometheus::Registry registry_;
    std::mutex mutex_; ///< guards the members below
    std::map<key, one> models_;
    prometheus::Family<prometheus::Counter> &requests_, &rows_, &bytes_in_, &bytes_out_, &reloads_,
        &lost_lines_;
    prometheus::Family<prometheus::Histogram> &queue_, &compute_, &request_, &batch_;
    prometheus::Family<prometheus::Gauge> &waiting_, &running_, &oldest_, &utilisation_, &buffers_, &weights_,
        &ready_, &connections_, &process_, &cache_;
    struct {
        prometheus::Gauge *resident, *virtual_bytes, *files, *most_files, *start, *threads;
        prometheus::Counter *cpu;
    } standard_; ///< the names that Prometheus' own clients have for a process
};

} // namespace octet::serve
