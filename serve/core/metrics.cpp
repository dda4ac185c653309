// Figures are registered once for each model and version, and removed with them; text is Prometheus' own serializer.

#include "core/metrics.hpp"

#include <filesystem>
#include <fstream>

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include "octet/primitive_cache.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using labels = std::map<std::string, std::string>;
constexpr int outcomes = static_cast<int>(outcome::failed) + 1;

// 50 µs to 10 s, in steps of about 2: digits take 20 µs, a ResNet on one core 50 ms.
const prometheus::Histogram::BucketBoundaries seconds_buckets = {
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};
const prometheus::Histogram::BucketBoundaries rows_buckets = {1, 2, 4, 8, 16, 32, 64, 128};

auto &counter(prometheus::Registry &r, const char *name, const char *help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(r);
}
auto &gauge(prometheus::Registry &r, const char *name, const char *help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(r);
}
auto &histogram(prometheus::Registry &r, const char *name, const char *help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(r);
}

double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double size = 0, resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_files() {
    std::error_code ignored;
    double count = 0;
    for (std::filesystem::directory_iterator it("/proc/self/fd", ignored), end; !ignored && it != end;
         it.increment(ignored))
        count++;
    return count;
}

} // namespace

void model_metrics::count(outcome o) { by_outcome_[static_cast<int>(o)]->Increment(); }

metrics::metrics()
    : requests_(counter(registry_, "octet_requests_total", "Requests by how they ended")),
      rows_(counter(registry_, "octet_rows_total", "Rows that were computed")),
      bytes_in_(counter(registry_, "octet_input_bytes_total", "Bytes of input tensors")),
      bytes_out_(counter(registry_, "octet_output_bytes_total", "Bytes of output tensors")),
      reloads_(counter(registry_, "octet_model_loads_total", "Loads of model versions by result")),
      queue_(histogram(registry_, "octet_queue_seconds", "Time from arrival to the start of the batch")),
      compute_(histogram(registry_, "octet_compute_seconds", "Time of a batch in the network")),
      request_(histogram(registry_, "octet_request_seconds", "Time from arrival to the end of the batch")),
      batch_(histogram(registry_, "octet_batch_rows", "Rows of the batches that ran")),
      waiting_(gauge(registry_, "octet_waiting_requests", "Requests in the queue")),
      buffers_(gauge(registry_, "octet_model_buffer_bytes", "Buffers of a model's contexts")),
      weights_(gauge(registry_, "octet_model_weight_bytes", "Weights of a model as its operators read them")),
      ready_(gauge(registry_, "octet_model_ready", "1 while a version is served")),
      connections_(gauge(registry_, "octet_connections", "Open connections by protocol")),
      process_(gauge(registry_, "octet_process", "The process: resident_bytes, open_files")),
      cache_(gauge(registry_, "octet_primitive_cache", "Generated kernels: kernels, bytes, hits, misses")) {
    prometheus::BuildGauge()
        .Name("octet_build_info")
        .Help("Version and instruction set, always 1")
        .Register(registry_)
        .Add({{"version", version()}, {"isa", to_string(get_effective_cpu_isa())}})
        .Set(1);
    gauge(registry_, "octet_primitive_cache_capacity_bytes", "Bound of the primitive cache")
        .Add({})
        .Set(static_cast<double>(get_primitive_cache_capacity()));
}

std::shared_ptr<model_metrics> metrics::of_model(const std::string &name, const std::string &version) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const key k = {name, version};
    if (const auto there = models_.find(k); there != models_.end())
        if (auto shared = there->second.shared.lock())
            return shared;
    const labels both = {{"model", name}, {"version", version}};
    const std::shared_ptr<model_metrics> m(new model_metrics,
                                           [this, k](model_metrics *over) { remove(k, over); });
    models_[k] = {m, m.get()};
    for (int o = 0; o < outcomes; o++) {
        labels all = both;
        all["result"] = to_string(static_cast<outcome>(o));
        m->by_outcome_[o] = &requests_.Add(all);
    }
    m->rows = &rows_.Add(both);
    m->bytes_in = &bytes_in_.Add(both);
    m->bytes_out = &bytes_out_.Add(both);
    m->queue_seconds = &queue_.Add(both, seconds_buckets);
    m->compute_seconds = &compute_.Add(both, seconds_buckets);
    m->request_seconds = &request_.Add(both, seconds_buckets);
    m->batch_rows = &batch_.Add(both, rows_buckets);
    m->waiting = &waiting_.Add(both);
    m->buffer_bytes = &buffers_.Add(both);
    m->weight_bytes = &weights_.Add(both);
    m->ready = &ready_.Add(both);
    return m;
}

void metrics::remove(const key &k, model_metrics *m) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto there = models_.find(k);
    if (there != models_.end() && there->second.address == m) { // else another one has its rows
        models_.erase(there);
        for (prometheus::Counter *c : m->by_outcome_)
            requests_.Remove(c);
        rows_.Remove(m->rows);
        bytes_in_.Remove(m->bytes_in);
        bytes_out_.Remove(m->bytes_out);
        queue_.Remove(m->queue_seconds);
        compute_.Remove(m->compute_seconds);
        request_.Remove(m->request_seconds);
        batch_.Remove(m->batch_rows);
        waiting_.Remove(m->waiting);
        buffers_.Remove(m->buffer_bytes);
        weights_.Remove(m->weight_bytes);
        ready_.Remove(m->ready);
    }
    delete m;
}

void metrics::count_other(outcome o) {
    requests_.Add({{"model", ""}, {"version", ""}, {"result", to_string(o)}}).Increment();
}

prometheus::Gauge &metrics::connections(const std::string &protocol) {
    return connections_.Add({{"protocol", protocol}});
}

prometheus::Counter &metrics::reloads(bool is_good) {
    return reloads_.Add({{"result", is_good ? "ok" : "failed"}});
}

std::string metrics::text() {
    process_.Add({{"what", "resident_bytes"}}).Set(resident_bytes());
    process_.Add({{"what", "open_files"}}).Set(open_files());
    const primitive_cache_usage cache = get_primitive_cache_usage();
    cache_.Add({{"what", "kernels"}}).Set(static_cast<double>(cache.kernels));
    cache_.Add({{"what", "bytes"}}).Set(static_cast<double>(cache.bytes));
    cache_.Add({{"what", "hits"}}).Set(static_cast<double>(cache.hits));
    cache_.Add({{"what", "misses"}}).Set(static_cast<double>(cache.misses));
    return prometheus::TextSerializer().Serialize(registry_.Collect());
}

} // namespace octet::serve
