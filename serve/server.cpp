// Puts repository, service and protocols together, then waits for signals: stop, reload, reopen.
// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <thread>

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/address.hpp"
#include "core/service.hpp"
#include "core/small_json.hpp"
#include "core/token.hpp"
#include "core/usable_memory.hpp"
#include "grpc/server.hpp"
#include "http/server.hpp"
#include "log.hpp"
#include "net/tls.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

void read_tokens(const std::string &path, token &tokens) {
    constexpr std::size_t most_bytes = std::size_t(1) << 20;
    if (tokens.set(read_regular_file(path, most_bytes)) == 0)
        throw error(status::invalid_arguments, path + ": has no token");
}

/// Throws octet::error where two models have one name, before anything is loaded.
void check_names(const std::vector<model_source> &sources) {
    std::map<std::string, std::string> files;
    for (const model_source &s : sources) {
        const std::string file = s.path.empty() ? "the one of --demo" : s.path;
        const auto [other, is_new] = files.emplace(s.name, file);
        if (!is_new)
            throw error(status::invalid_arguments,
                        "two models are called '" + s.name + "': " + other->second + " and " + file);
    }
}

/// CPUs that the process may use, which Octet knows: affinity and quota.
int usable_cpus() {
    const int threads = get_num_threads();
    if (threads > 0)
        return threads;
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

/// Bytes of requests that are being received: a quarter leaves room for their copies, models and replies.
std::size_t usual_total_bytes() { return std::min(usable_memory() / 4, std::size_t(1) << 30); }

/// HTTP and gRPC share the descriptors that models, logs and the port of metrics leave, so that those always find one.
std::size_t most_connections_of_a_port() {
    constexpr rlim_t reserve = 100, least = 4;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::numeric_limits<std::size_t>::max();
    return std::max(least, limit.rlim_cur > reserve ? (limit.rlim_cur - reserve) / 2 : 0);
}

} // namespace

struct server::state {
    server_options options;
    log out;
    metrics figures;
    token secret;
    std::unique_ptr<receive_budget> receiving;
    std::unique_ptr<scheduler> workers;
    std::unique_ptr<repository> models;
    std::unique_ptr<service> requests;
    std::unique_ptr<rest> paths;
    std::unique_ptr<listener> http, scrapes, calls;

    explicit state(const server_options &o) : options(o), out(o.access_log) {
        check_names(options.sources);
        if (options.workers == 0)
            options.workers = usable_cpus();
        if (options.most_total_bytes == 0)
            options.most_total_bytes = usual_total_bytes();
        receiving = std::make_unique<receive_budget>(options.most_total_bytes);
        if (options.io_threads == 0)
            options.io_threads = std::max(1, options.workers / 2);
        options.most_connections = std::min(options.most_connections, most_connections_of_a_port());
        if (!options.token_file.empty())
            read_tokens(options.token_file, secret);
        workers = std::make_unique<scheduler>(options.workers, options.is_pinned);
        repository_options r;
        r.trial = {options.trial_program, options.load, options.most_total_bytes};
        r.may_be_empty = options.may_be_empty;
        r.is_lax = options.is_lax;
        r.saves_findings = options.saves_findings;
        r.is_explicit = options.is_explicit;
        r.only_name = options.model_name;
        r.profile = options.profile;
        r.rows_alike = options.rows_alike;
        models = std::make_unique<repository>(
            *workers, figures,
            [this](bool is_error, const std::string &sentence) {
                is_error ? out.error(sentence) : out.info(sentence);
            },
            std::move(r));
        service_options s;
        s.readers = options.io_threads;
        s.may_change_models = options.may_change_models;
        s.may_profile = options.may_profile;
        s.most_body_bytes = options.most_body_bytes;
        s.figures = [this] { return service_figures(); };
        if (out.has_access_log())
            s.log = [this](const access &a) { out.write(a); };
        requests = std::make_unique<service>(*workers, *models, figures, std::move(s));
        paths = std::make_unique<rest>(*requests, secret);
        listen();
    }

    using handler = decltype(http_handlers::handle);
    http_handlers handlers(handler handle) {
        return {[this](const http_request &head) { return paths->most_body_bytes(head); }, std::move(handle),
                [this](const http_request &r, const refusal &e) { return paths->refuse(r, e); },
                [this](const service::call &c, bool is_expired) {
                    is_expired ? requests->expire(c) : requests->cancel(c);
                },
                cors()};
    }

    void listen() {
        listen_options o;
        constexpr std::size_t bytes_of_http = std::size_t(24) << 10, bytes_of_grpc = std::size_t(48) << 10;
        const auto on = [&](const std::string &address, const char *protocol, std::size_t bytes) {
            o.address = address;
            o.bytes_of_connection = bytes;
            o.count = [&gauge = figures.connections(protocol)](int more) { gauge.Increment(more); };
            return o;
        };
        o.threads = options.io_threads;
        o.most_connections = options.most_connections;
        o.most_header_bytes = options.most_header_bytes;
        o.most_body_bytes = options.most_body_bytes;
        o.idle = options.idle;
        o.receive = o.send = options.receive;
        o.certificate = options.certificate;
        o.key = options.key;
        o.client_authority = options.client_authority;
        if (options.http != "off") {
            http_handlers inferring = handlers(
                [this](const http_request &r, const rest::answering &to) { return paths->handle(r, to); });
            inferring.origins = cors(options.cors_origins);
            http = listen_http(on(options.http, "http", bytes_of_http), *receiving, std::move(inferring));
        }
        if (options.grpc != "off")
            calls = listen_grpc(on(options.grpc, "grpc", bytes_of_grpc), *receiving, *requests, secret);
        o.threads = 1;
        o.certificate.clear();
        o.client_authority.clear();
        o.most_connections = 64;
        // Probes find the server also where requests fill the memory: they count nothing.
        if (options.metrics != "off")
            scrapes = listen_http(
                on(options.metrics, "metrics", 0), *receiving,
                handlers([this](const http_request &r,
                                const rest::answering &to) -> std::shared_ptr<const service::call> {
                    if (r.target.substr(0, 11) == "/v2/health/")
                        return paths->handle(r, to);
                    to.done(scrape(r));
                    return nullptr;
                }));
        if (options.http == "off" && options.grpc == "off")
            make_tls(options.certificate, options.key, options.client_authority,
                     ""); // says what is wrong with them
    }

    /// On the port of metrics.
    http_reply scrape(const http_request &r) {
        if (r.method != "GET" || r.target.substr(0, r.target.find('?')) != "/metrics")
            return error_reply(
                refusal(outcome::not_found, "GET /metrics and /v2/health are all there is here"));
        try {
            if (!options.are_metrics_open)
                secret.opened_by(r.authorization).require("");
            return metrics_reply(service_figures());
        } catch (const refusal &e) {
            return error_reply(e);
        }
    }
    std::string service_figures() {
        models->update_gauges();
        figures.set_lost_lines(out.lost_lines());
        return figures.text();
    }

    void load() {
        for (const model_source &source : options.sources)
            models->add(source);
        if (!options.models.empty()) {
            models->open(options.models);
            if (options.poll.count() > 0 && !options.is_explicit)
                models->watch(options.poll);
        }
        models->set_loaded();
    }
};

server::server(const server_options &options, bool is_loading) : state_(std::make_unique<state>(options)) {
    if (is_loading)
        load();
}

server::~server() {
    service &requests = *state_->requests;
    requests.stop();
    state_->models->abandon();
    for (background *b : {&requests.changes, &requests.readers})
        b->stop();
    state_->models->stop();
    state_->workers->stop(); // its jobs are finished; connections that are left may still ask for it
}

void server::load() { state_->load(); }

unsigned short server::http_port() const { return state_->http ? state_->http->port() : 0; }
unsigned short server::grpc_port() const { return state_->calls ? state_->calls->port() : 0; }
unsigned short server::metrics_port() const { return state_->scrapes ? state_->scrapes->port() : 0; }

void server::reload() {
    reload_files();
    state_->models->scan(true);
}

void server::reload_files() {
    const auto attempt = [&](const char *what, auto &&work) {
        try {
            work();
        } catch (const std::exception &e) {
            state_->out.error(std::string("reload: ") + what + ": " + e.what());
        }
    };
    attempt("token", [&] {
        if (!state_->options.token_file.empty())
            read_tokens(state_->options.token_file, state_->secret);
    });
    attempt("certificate", [&] {
        for (listener *l : {state_->http.get(), state_->calls.get()})
            if (l)
                l->reload_certificate();
    });
    attempt("access log", [&] { state_->out.reopen(); });
}

bool server::stop() {
    constexpr auto most_grace = std::chrono::milliseconds(1000), moment = std::chrono::milliseconds(10);
    state &s = *state_;
    const auto each = [&](const auto &f) {
        for (listener *l : {s.http.get(), s.calls.get()})
            if (l)
                f(*l);
    };
    const auto is_idle = [&] {
        bool all = true;
        each([&](const listener &l) { all &= l.is_idle(); });
        return all;
    };
    const auto wait_for_clients = [&](clock::time_point end) {
        while (!is_idle() && clock::now() < end)
            std::this_thread::sleep_for(moment);
    };
    s.requests->leave();
    s.models->abandon();
    each([](listener &l) { l.leave(); });
    std::this_thread::sleep_for(s.options.leave);
    const auto until = clock::now() + s.options.most_drain;
    const auto grace = std::min(most_grace, s.options.most_drain / 2);
    each([&](listener &l) { l.drain(grace); });
    wait_for_clients(clock::now() + grace);
    s.requests->stop();
    const bool is_done = s.workers->wait_until_idle(until);
    wait_for_clients(until); // replies that are being sent
    return is_done && is_idle();
}

namespace {

/// Threads and memory that only help where there are requests for a long time, in a process that is a server
/// and nothing else.
sigset_t prepare_process() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1})
        sigaddset(&watched, number);
    pthread_sigmask(SIG_BLOCK, &watched, nullptr); // in all threads, which are made from here on
    std::signal(SIGPIPE, SIG_IGN);
    // Memory of an image is used again for the next one instead of being given back to the kernel and cleared by it.
    constexpr int kept = 32 << 20;
    mallopt(M_MMAP_THRESHOLD, kept);
    mallopt(M_TRIM_THRESHOLD, kept);
    return watched;
}

/// Loading, in a thread that tells the process by a signal when it is over: signals from outside are heeded meanwhile.
class loader {
public:
    explicit loader(std::function<void()> load)
        : thread_([this, load = std::move(load)] {
              try {
                  load();
              } catch (...) {
                  failure_ = std::current_exception();
              }
              is_over_ = true;
              ::kill(::getpid(), SIGUSR1);
          }) {}
    ~loader() {
        if (thread_.joinable())
            thread_.join();
    }
    /// Throws what loading threw.
    bool is_over() {
        if (!is_over_)
            return false;
        if (thread_.joinable())
            thread_.join();
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        return true;
    }

private:
    std::atomic<bool> is_over_{false};
    std::exception_ptr failure_;
    std::thread thread_; // last: it uses the others
};

bool is_loopback(const std::string &address) {
    return address == "off" || address.rfind("127.", 0) == 0 || address.rfind("localhost:", 0) == 0 ||
           address.rfind("[::1]:", 0) == 0;
}

} // namespace

std::string server::places() const {
    const auto told = [](const std::string &address, unsigned short port) {
        return port == 0 ? std::string("off")
                         : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
    };
    const server_options &o = state_->options;
    return "HTTP " + told(o.http, http_port()) + ", gRPC " + told(o.grpc, grpc_port()) + ", metrics " +
           told(o.metrics, metrics_port());
}

/// Everything but listening. Returns an exit code.
int server::check(const server_options &options) {
    for (const std::string &address : {options.http, options.grpc, options.metrics})
        if (address != "off")
            parse_address(address);
    server_options silent = options;
    silent.http = silent.grpc = silent.metrics = "off";
    const server s(silent);
    bool is_good = true;
    const std::vector<repository::row> rows = s.state_->models->index();
    if (rows.empty()) {
        std::cout << options.models
                  << ": has no model, allowed: NAME/VERSION/model.tflite, .onnx or .octet\n";
        is_good = options.may_be_empty;
    }
    for (const repository::row &r : rows) {
        is_good &= r.reason.empty();
        std::cout << r.name << (r.version.empty() ? "" : " version " + r.version) << ": "
                  << (r.reason.empty() ? "good" : r.reason) << '\n';
    }
    return is_good ? 0 : 1;
}

int server::run(const server_options &options, const std::string &greeting) {
    if (options.is_check)
        return check(options);
    const sigset_t watched = prepare_process();
    server s(options, false);
    state &own = *s.state_;
    log &out = own.out;
    loader loading([&own] { own.load(); });
    bool is_ready = false, was_told = false;
    for (;;) {
        constexpr timespec patience{1, 0};
        const int number = is_ready || was_told ? sigwaitinfo(&watched, nullptr)
                                                : sigtimedwait(&watched, nullptr, &patience);
        if (number < 0 && errno == EAGAIN) {
            was_told = true;
            out.info("listening: " + s.places() + "; models are being loaded");
        }
        if (!is_ready && loading.is_over()) {
            is_ready = true;
            for (const auto &[what, address] :
                 {std::pair("HTTP", options.http), std::pair("gRPC", options.grpc)})
                if (!is_loopback(address) && options.token_file.empty())
                    out.info(std::string(what) + " on " + address +
                             ": whoever reaches this machine may ask (no --token-file)");
            out.info("octet " + std::string(version()) + " on " + to_string(get_effective_cpu_isa()) + ", " +
                     std::to_string(own.options.workers) + " workers; ready: " + s.places());
            std::cout << greeting << std::flush;
        }
        if (number == SIGHUP) {
            s.reload_files();
            try {
                own.requests->changes.submit([&own, &out] {
                    own.models->scan(true);
                    out.info("reloaded");
                });
            } catch (const refusal &e) {
                out.error(std::string("reload: ") + e.what());
            }
        }
        if (number == SIGTERM || number == SIGINT)
            break;
    }
    out.info("stopping");
    const bool is_done = s.stop();
    out.info(is_done ? "stopped" : "stopped with requests left over, which took too long");
    constexpr auto most_wait = std::chrono::seconds(2);
    for (const auto until = clock::now() + most_wait; own.models->is_loading();)
        if (clock::now() > until) { // a model that computes while it is loaded cannot be interrupted
            out.flush();
            _exit(is_done ? 0 : 1);
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    return is_done ? 0 : 1;
}

} // namespace octet::serve
