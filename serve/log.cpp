// Two spdlog loggers with one thread and one bounded queue; when the file is reopened, the logger is replaced.

#include "log.hpp"

#include <mutex>

#include <nlohmann/json.hpp>
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace octet::serve {

struct log::state {
    std::shared_ptr<spdlog::logger> words, requests;
    std::string access_file;
    mutable std::mutex mutex; ///< of `requests`
    /// Ends first, when it has written all that it was given.
    std::shared_ptr<spdlog::details::thread_pool> pool =
        std::make_shared<spdlog::details::thread_pool>(8192, 1);

    std::shared_ptr<spdlog::logger> make(spdlog::sink_ptr sink, const char *pattern) {
        const auto logger = std::make_shared<spdlog::async_logger>(
            "octet", std::move(sink), pool, spdlog::async_overflow_policy::overrun_oldest);
        logger->set_pattern(pattern, spdlog::pattern_time_type::utc);
        logger->flush_on(spdlog::level::warn);
        return logger;
    }
    std::shared_ptr<spdlog::logger> open_requests() {
        if (access_file.empty())
            return nullptr;
        try {
            spdlog::sink_ptr sink;
            if (access_file == "-")
                sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
            else
                sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(access_file);
            const auto logger = make(sink, "%v");
            logger->set_error_handler([](const std::string &) {}); // a full disk stops no request
            return logger;
        } catch (const spdlog::spdlog_ex &e) {
            throw octet::error(status::invalid_arguments, access_file + ": " + e.what());
        }
    }
};

log::log(const std::string &access_file) : state_(std::make_unique<state>()) {
    state_->access_file = access_file;
    state_->words =
        state_->make(std::make_shared<spdlog::sinks::stderr_sink_mt>(), "%Y-%m-%dT%H:%M:%S.%eZ %l %v");
    state_->words->flush_on(spdlog::level::info);
    state_->requests = state_->open_requests();
}

log::~log() = default;
void log::info(const std::string &sentence) { state_->words->info("{}", sentence); }
void log::error(const std::string &sentence) { state_->words->error("{}", sentence); }
bool log::has_access_log() const { return !state_->access_file.empty(); }

void log::reopen() {
    auto next = state_->open_requests();
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->requests.swap(next);
}

void log::write(const access &a) {
    using json = nlohmann::ordered_json;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    json row = {{"time", std::chrono::duration<double>(now).count()},
                {"protocol", a.protocol},
                {"request", a.what},
                {"model", a.model},
                {"version", a.version},
                {"id", a.id},
                {"result", to_string(a.result)},
                {"seconds", a.seconds},
                {"queue_seconds", a.queue_seconds},
                {"compute_seconds", a.compute_seconds},
                {"batch", a.batch},
                {"bytes_in", a.bytes_in},
                {"bytes_out", a.bytes_out}};
    if (!a.trace.empty())
        row["traceparent"] = a.trace;
    std::shared_ptr<spdlog::logger> to;
    {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        to = state_->requests;
    }
    if (to)
        to->info("{}", row.dump(-1, ' ', false, json::error_handler_t::replace));
}

} // namespace octet::serve
