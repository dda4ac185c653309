#pragma once

// What operators watch, in Prometheus' terms. doc/serving.md lists the names, which dashboards rely on: they stay.

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

/// Figures of one version of a model; its rows go with it.
class model_metrics {
public:
    void count(outcome o);
    prometheus::Counter *rows, *bytes_in, *bytes_out;
    prometheus::Histogram *queue_seconds, *compute_seconds, *request_seconds, *batch_rows;
    prometheus::Gauge *waiting, *buffer_bytes, *weight_bytes, *ready;

private:
    friend class metrics;
    prometheus::Counter *by_outcome_[static_cast<int>(outcome::failed) + 1];
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
    std::mutex mutex_; ///< of what follows
    std::map<key, one> models_;
    prometheus::Family<prometheus::Counter> &requests_, &rows_, &bytes_in_, &bytes_out_, &reloads_;
    prometheus::Family<prometheus::Histogram> &queue_, &compute_, &request_, &batch_;
    prometheus::Family<prometheus::Gauge> &waiting_, &buffers_, &weights_, &ready_, &connections_, &process_,
        &cache_;
};

} // namespace octet::serve
