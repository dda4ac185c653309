// Figures are registered once for each model and version, and removed with them; text is Prometheus' own serializer.
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics.hpp"

#include <filesystem>

#include <prometheus/text_serializer.h>
#include <sys/resource.h>

#include "core/usable_memory.hpp"
#include "octet/primitive_cache.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using labels = std::map<std::string, std::string>;

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

double entries_in(const char *folder) {
    std::error_code ignored;
    double count = 0;
    for (std::filesystem::directory_iterator it(folder, ignored), end; !ignored && it != end;
         it.increment(ignored))
        count++;
    return count;
}
double open_files() { return entries_in("/proc/self/fd"); }
double threads() { return entries_in("/proc/self/task"); }

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

} // namespace

void model_metrics::count(outcome o) { by_outcome_[static_cast<int>(o)]->Increment(); }

void model_metrics::finished(const job &j) {
    count(j.result);
    const bool is_good = j.result == outcome::ok;
    if (is_good) {
        std::size_t out = 0;
        for (const byte_range &b : j.outputs)
            out += b.size;
        queue_seconds->Observe(seconds(j.started - j.queued));
        request_seconds->Observe(seconds(j.finished - j.queued));
        bytes_in->Increment(static_cast<double>(j.bytes));
        bytes_out->Increment(static_cast<double>(out));
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::lock_guard<std::mutex> lock(mutex_);
    (is_good ? statistics_.success : statistics_.failure).add(seconds(j.finished - j.queued));
    if (is_good) {
        statistics_.queue.add(seconds(j.started - j.queued));
        statistics_.rows += static_cast<std::uint64_t>(j.rows);
        statistics_.last_milliseconds =
            static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    }
}

void model_metrics::look(double computed, int instances) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = clock::now();
    const double passed = seconds(now - last_look_) * std::max(1, instances);
    if (passed <= 0)
        return;
    utilisation->Set(std::clamp((computed - computed_) / passed, 0.0, 1.0));
    computed_ = computed;
    last_look_ = now;
}

void model_metrics::ran(std::int64_t batch, std::size_t jobs, double took) {
    compute_seconds->Observe(took);
    batch_rows->Observe(static_cast<double>(batch));
    rows->Increment(static_cast<double>(batch));
    const std::lock_guard<std::mutex> lock(mutex_);
    statistics_.executions++;
    statistics_.computing.add(took, jobs);
    statistics_.batches[batch].add(took);
}

metrics::metrics()
    : requests_(counter(registry_, "octet_requests_total", "Requests by how they ended")),
      rows_(counter(registry_, "octet_rows_total", "Rows that were computed")),
      bytes_in_(counter(registry_, "octet_input_bytes_total", "Bytes of input tensors")),
      bytes_out_(counter(registry_, "octet_output_bytes_total", "Bytes of output tensors")),
      reloads_(counter(registry_, "octet_model_loads_total", "Loads of model versions by result")),
      lost_lines_(
          counter(registry_, "octet_access_log_lost_lines_total", "Lines of the access log that were lost")),
      queue_(histogram(registry_, "octet_queue_seconds", "Time from arrival to the start of the batch")),
      compute_(histogram(registry_, "octet_compute_seconds", "Time of a batch in the network")),
      request_(histogram(registry_, "octet_request_seconds", "Time from arrival to the end of the batch")),
      batch_(histogram(registry_, "octet_batch_rows", "Rows of the batches that ran")),
      waiting_(gauge(registry_, "octet_waiting_requests", "Requests in the queue")),
      running_(gauge(registry_, "octet_running_batches", "Batches that run now")),
      oldest_(
          gauge(registry_, "octet_queue_age_seconds", "How long the oldest request in the queue has waited")),
      utilisation_(gauge(registry_, "octet_utilisation_ratio",
                         "Share of its instances' time that a model has computed since the last look at it")),
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
    const auto one = [&](const char *name, const char *help) {
        return &gauge(registry_, name, help).Add({});
    };
    standard_.resident = one("process_resident_memory_bytes", "Resident memory size in bytes");
    standard_.virtual_bytes = one("process_virtual_memory_bytes", "Virtual memory size in bytes");
    standard_.files = one("process_open_fds", "Number of open file descriptors");
    standard_.most_files = one("process_max_fds", "Maximum number of open file descriptors");
    standard_.threads = one("process_threads", "Number of threads");
    standard_.start = one("process_start_time_seconds", "Start time of the process since 1970 in seconds");
    standard_.start->SetToCurrentTime();
    standard_.cpu =
        &counter(registry_, "process_cpu_seconds_total", "Processor time that was spent, in seconds").Add({});
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
    for (int o = 0; o < outcome_count; o++) {
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
    m->running = &running_.Add(both);
    m->oldest_seconds = &oldest_.Add(both);
    m->utilisation = &utilisation_.Add(both);
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
        running_.Remove(m->running);
        oldest_.Remove(m->oldest_seconds);
        utilisation_.Remove(m->utilisation);
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

void metrics::set_lost_lines(std::uint64_t all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    prometheus::Counter &c = lost_lines_.Add({});
    c.Increment(static_cast<double>(all) - c.Value());
}

std::string metrics::text() {
    standard_.resident->Set(static_cast<double>(process_memory("VmRSS")));
    standard_.virtual_bytes->Set(static_cast<double>(process_memory("VmSize")));
    standard_.files->Set(open_files());
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    standard_.most_files->Set(static_cast<double>(files.rlim_cur));
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto of = [](const timeval &t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    standard_.cpu->Increment(std::max(0.0, of(used.ru_utime) + of(used.ru_stime) - standard_.cpu->Value()));
    standard_.threads->Set(threads());
    process_.Add({{"what", "resident_bytes"}}).Set(standard_.resident->Value());
    process_.Add({{"what", "open_files"}}).Set(standard_.files->Value());
    const primitive_cache_usage cache = get_primitive_cache_usage();
    cache_.Add({{"what", "kernels"}}).Set(static_cast<double>(cache.kernels));
    cache_.Add({{"what", "bytes"}}).Set(static_cast<double>(cache.bytes));
    cache_.Add({{"what", "hits"}}).Set(static_cast<double>(cache.hits));
    cache_.Add({{"what", "misses"}}).Set(static_cast<double>(cache.misses));
    return prometheus::TextSerializer().Serialize(registry_.Collect());
}

} // namespace octet::serve
