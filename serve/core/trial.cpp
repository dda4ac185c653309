// Starting the other process, waiting for it with a deadline, and what that process does. It is made by
// posix_spawn: a copy of a process with several threads could not go on.
// SPDX-License-Identifier: Apache-2.0
#include "core/trial.hpp"

#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/small_json.hpp"
#include "core/usable_memory.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using nlohmann::json;
constexpr std::size_t mebibyte = std::size_t(1) << 20;

[[noreturn]] void fail(const std::string &sentence) { throw error(status::runtime_error, sentence); }

/// Returns the bytes that a model may take: the memory that there is, less the server's own, less the part
/// that is reserved for requests.
std::size_t bytes_for_a_model(std::size_t reserve) {
    const std::size_t all = usable_memory(), taken = process_memory("RssAnon") + reserve + all / 16;
    return all > taken ? all - taken : 0;
}

/// A process that was started and is ended, at the latest, with the object.
class child {
public:
    child(const std::string &program, std::vector<std::string> arguments) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            fail(std::string("loading: no pipe: ") + std::strerror(errno));
        output_ = ends[0];
        std::vector<char *> argv;
        for (std::string &a : arguments)
            argv.push_back(a.data());
        argv.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, ends[1], 1);
        posix_spawn_file_actions_addclosefrom_np(&files, 3); // connections are the server's alone
        posix_spawnattr_t how;
        posix_spawnattr_init(&how);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&how, &none);
        posix_spawnattr_setsigdefault(&how, &all);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        const int failure = posix_spawn(&id_, program.c_str(), &files, &how, argv.data(), environ);
        posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&files);
        ::close(ends[1]);
        if (failure != 0) {
            ::close(output_);
            fail("loading: a process cannot be started: " + std::string(std::strerror(failure)));
        }
    }
    ~child() {
        if (!is_over_) {
            ::kill(id_, SIGKILL);
            while (::waitpid(id_, &state_, 0) < 0 && errno == EINTR) {
            }
        }
        ::close(output_);
    }
    child(const child &) = delete;
    child &operator=(const child &) = delete;

    /// Reads what it writes, for a moment. False once it has ended and all is read.
    bool step() {
        constexpr int moment = 20;
        pollfd watched{is_silent_ ? -1 : output_, POLLIN, 0};
        ::poll(&watched, 1, moment);
        char bytes[4096];
        if (watched.revents) {
            const ssize_t got = ::read(output_, bytes, sizeof bytes);
            is_silent_ = got == 0 || (got < 0 && errno != EINTR);
            if (got > 0 && said.size() < most_control_bytes)
                said.append(bytes, static_cast<std::size_t>(got));
        }
        if (!is_over_)
            is_over_ = ::waitpid(id_, &state_, WNOHANG) == id_;
        return !is_over_ || !is_silent_;
    }
    int state() const { return state_; }

    std::string said;

private:
    pid_t id_ = 0;
    int output_ = -1, state_ = 0;
    bool is_over_ = false, is_silent_ = false;
};

/// The other process gives way where memory is short, ends with the server, and leaves no core.
void limit_this_process(std::size_t bytes, int workers) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::ofstream("/proc/self/oom_score_adj") << 1000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    bytes = std::numeric_limits<std::size_t>::max() / 2; // a sanitizer reserves terabytes for its own use
#endif
    const std::size_t stacks =
        (static_cast<std::size_t>(workers) + 4) * 8 * mebibyte; // address space that is reserved, not taken
    for (const auto &[kind, most] :
         {std::pair(RLIMIT_DATA, bytes + stacks), std::pair(RLIMIT_CORE, std::size_t{0})}) {
        rlimit limit{};
        getrlimit(kind, &limit);
        limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
        setrlimit(kind, &limit);
    }
}

} // namespace

model_findings try_model(const trial_options &options, const model_source &source, const std::string &config,
                         int workers, const std::function<bool()> &stop,
                         const std::optional<model_findings> &known) {
    const std::size_t bytes = bytes_for_a_model(options.reserve + open_sizes::of_process().left());
    child other(options.program, {"octet-serve", trial_option, source.path, config, std::to_string(workers),
                                  std::to_string(bytes), to_string(get_effective_cpu_isa()),
                                  known ? to_json(*known).dump() : ""});
    const auto until = clock::now() + options.time;
    while (other.step()) {
        if (stop && stop())
            fail("stopped");
        if (clock::now() > until)
            fail("loading takes longer than " + std::to_string(options.time.count()) + " ms");
    }
    const std::string room = std::to_string(bytes / mebibyte) + " MiB that are left for it";
    if (WIFSIGNALED(other.state()))
        fail(WTERMSIG(other.state()) == SIGKILL
                 ? "loading was killed, which the system does where memory runs out (" + room + ")"
                 : std::string("loading ended with a signal: ") + strsignal(WTERMSIG(other.state())));
    if (other.said.empty())
        fail("loading ended without an answer, exit code " + std::to_string(WEXITSTATUS(other.state())));
    try {
        const json answer = read_small_json(other.said);
        if (answer.contains("error"))
            fail(answer["error"].get<std::string>() +
                 (answer["is_memory"].get<bool>() ? ": it does not fit into " + room : ""));
        model_findings f = findings_from(answer);
        f.is_checked = true;
        return f;
    } catch (const json::exception &) {
        fail("loading ended with another answer than the server's");
    }
}

int run_trial(int count, char **arguments) {
    json answer;
    try {
        if (count != 6)
            fail(std::string(trial_option) + " is for octet-serve itself");
        const int workers = std::stoi(arguments[2]);
        limit_this_process(std::stoull(arguments[3]), workers);
        set_max_cpu_isa(cpu_isa_from_string(arguments[4]));
        const std::string config = arguments[1];
        const std::string stored = arguments[5];
        const model_findings known =
            stored.empty() ? model_findings() : findings_from(read_small_json(stored));
        answer = to_json(served_model::load({"model", "1", arguments[0], ""},
                                            config.empty() ? model_config() : read_config(config), workers,
                                            {}, stored.empty() ? nullptr : &known)
                             ->findings());
    } catch (const std::bad_alloc &) {
        answer = {{"error", "there is no memory to load it"}, {"is_memory", true}};
    } catch (const error &e) {
        answer = {{"error", e.what()}, {"is_memory", e.status == status::out_of_memory}};
    } catch (const std::exception &e) {
        answer = {{"error", e.what()}, {"is_memory", false}};
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    _exit(0); // the system frees the rest
}

} // namespace octet::serve
