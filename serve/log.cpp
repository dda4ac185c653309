// A writer with a thread and a bounded queue for each of the two files; `reopen` replaces the file of one.
// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace octet::serve {
namespace {

/// Lines on their way to a file.
class line_writer {
public:
    using listener = std::function<void(const std::string &)>;

    /// `complain` is told, by the thread that writes, when lines begin and cease to be lost.
    line_writer(int file, listener complain)
        : complain_(std::move(complain)), file_(file), thread_([this] { work(); }) {}
    ~line_writer() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_ending_ = true;
        }
        wake_.notify_all();
        thread_.join();
        close_file();
    }
    line_writer(const line_writer &) = delete;
    line_writer &operator=(const line_writer &) = delete;

    void write(std::string line) {
        line += '\n';
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (lines_.size() >= most_waiting) {
                lost++;
                return;
            }
            lines_.push_back(std::move(line));
        }
        wake_.notify_all();
    }
    void use(int file) {
        const std::lock_guard<std::mutex> lock(file_mutex_);
        close_file();
        file_ = file;
    }
    void flush(std::chrono::milliseconds most) {
        std::unique_lock<std::mutex> lock(mutex_);
        idle_.wait_for(lock, most, [&] { return lines_.empty() && !is_writing_; });
    }

    std::atomic<std::uint64_t> lost{0};

private:
    static constexpr std::size_t most_waiting = 8192;

    void close_file() const {
        if (file_ > STDERR_FILENO)
            ::close(file_);
    }
    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            is_writing_ = false;
            idle_.notify_all();
            wake_.wait(lock, [&] { return is_ending_ || !lines_.empty(); });
            if (lines_.empty())
                return;
            std::deque<std::string> taken;
            taken.swap(lines_);
            is_writing_ = true;
            lock.unlock();
            for (const std::string &line : taken)
                put(line);
            lock.lock();
        }
    }
    void put(const std::string &line) {
        const std::lock_guard<std::mutex> lock(file_mutex_);
        std::size_t at = 0;
        while (at < line.size()) {
            const ssize_t written = ::write(file_, line.data() + at, line.size() - at);
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                break;
            at += static_cast<std::size_t>(written);
        }
        if (at < line.size())
            lost++;
        if ((at < line.size()) == is_failing_)
            return;
        is_failing_ = !is_failing_;
        if (complain_)
            complain_(is_failing_ ? std::string("lines are lost: ") + std::strerror(errno)
                                  : "lines are written again; " + std::to_string(lost) + " were lost");
    }

    const listener complain_;
    std::mutex file_mutex_; ///< guards the two below
    int file_;
    bool is_failing_ = false;
    std::mutex mutex_; ///< guards the members below
    std::condition_variable wake_, idle_;
    std::deque<std::string> lines_;
    bool is_ending_ = false, is_writing_ = false;
    std::thread thread_; // last: it uses the others
};

/// -1: there is no access log.
int open_file(const std::string &path) {
    if (path.empty())
        return -1;
    if (path == "-")
        return STDOUT_FILENO;
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        throw octet::error(status::invalid_arguments, path + ": cannot be opened: " + std::strerror(errno));
    return file;
}

/// Now, as 2026-01-31T12:00:00.123Z.
std::string time_text() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    gmtime_r(&now.tv_sec, &parts);
    char text[40];
    const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &parts);
    const std::string thousandths = std::to_string(1000 + now.tv_nsec / 1'000'000);
    return std::string(text, size) + thousandths.substr(1) + 'Z';
}

} // namespace

struct log::state {
    explicit state(const std::string &file)
        : access_file(file), words(STDERR_FILENO, nullptr),
          requests(open_file(file), [this](const std::string &what) {
              words.write(time_text() + " error access log: " + what);
          }) {}
    const std::string access_file;
    line_writer words, requests;
};

log::log(const std::string &access_file) : state_(std::make_unique<state>(access_file)) {}
log::~log() = default;
void log::info(const std::string &sentence) { state_->words.write(time_text() + " info " + sentence); }
void log::error(const std::string &sentence) { state_->words.write(time_text() + " error " + sentence); }
bool log::has_access_log() const { return !state_->access_file.empty(); }
void log::reopen() { state_->requests.use(open_file(state_->access_file)); }
std::uint64_t log::lost_lines() const { return state_->requests.lost; }

void log::flush() {
    constexpr auto most = std::chrono::milliseconds(500);
    state_->requests.flush(most);
    state_->words.flush(most);
}

void log::write(const access &a) {
    using json = nlohmann::ordered_json;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    json row = {{"time", std::chrono::duration<double>(now).count()},
                {"protocol", a.protocol},
                {"client", a.peer},
                {"request", a.what},
                {"model", a.model},
                {"version", a.version},
                {"id", a.id},
                {"result", to_string(a.result)},
                {"status", a.status},
                {"seconds", a.seconds},
                {"queue_seconds", a.queue_seconds},
                {"compute_seconds", a.compute_seconds},
                {"batch", a.batch},
                {"bytes_in", a.bytes_in},
                {"bytes_out", a.bytes_out}};
    if (is_traceparent(a.trace)) { // version-trace-span-flags
        row["traceparent"] = a.trace;
        row["trace_id"] = a.trace.substr(3, 32);
        row["span_id"] = a.trace.substr(36, 16);
    }
    state_->requests.write(row.dump(-1, ' ', false, json::error_handler_t::replace));
}

} // namespace octet::serve
