// Puts repository, service and protocols together, then waits for signals: stop, reload, reopen.

#include "server.hpp"

#include <csignal>
#include <fstream>
#include <iostream>
#include <limits>
#include <thread>

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/service.hpp"
#include "core/token.hpp"
#include "core/usable_memory.hpp"
#include "grpc/server.hpp"
#include "http/server.hpp"
#include "log.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

std::string read_token(const std::string &path) {
    std::ifstream file(path);
    std::string secret;
    std::getline(file, secret);
    while (!secret.empty() && (secret.back() == '\r' || secret.back() == ' '))
        secret.pop_back();
    if (!file || secret.empty())
        throw error(status::invalid_arguments, path + ": has no token in its first line");
    return secret;
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
    std::unique_ptr<http_server> http, scrapes;
    std::unique_ptr<grpc_server> calls;

    explicit state(const server_options &o) : options(o), out(o.access_log) {
        if (options.workers == 0)
            options.workers = usable_cpus();
        if (options.most_total_bytes == 0)
            options.most_total_bytes = usual_total_bytes();
        receiving = std::make_unique<receive_budget>(options.most_total_bytes);
        if (options.io_threads == 0)
            options.io_threads = std::max(1, options.workers / 2);
        options.most_connections = std::min(options.most_connections, most_connections_of_a_port());
        if (!options.token_file.empty())
            secret.set(read_token(options.token_file));
        workers = std::make_unique<scheduler>(options.workers, options.is_pinned);
        models = std::make_unique<repository>(*workers, figures,
                                              [this](bool is_error, const std::string &sentence) {
                                                  is_error ? out.error(sentence) : out.info(sentence);
                                              });
        service_options s;
        s.may_change_models = options.may_change_models;
        s.may_profile = options.may_profile;
        s.most_body_bytes = options.most_body_bytes;
        if (out.has_access_log())
            s.log = [this](const access &a) { out.write(a); };
        requests = std::make_unique<service>(*workers, *models, figures, std::move(s));
        paths = std::make_unique<rest>(*requests, secret);
        listen();
    }

    http_server::handlers handlers(const std::string &protocol, http_server::handler handle) {
        return {[this](const http_request &head) { return paths->most_body_bytes(head); }, std::move(handle),
                [this](outcome o, const std::string &sentence) { return paths->refuse(o, sentence); },
                [this](const service::call &c, bool is_expired) {
                    is_expired ? requests->expire(c) : requests->cancel(c);
                },
                [&gauge = figures.connections(protocol)](int more) { gauge.Increment(more); }};
    }

    void listen() {
        http_options h;
        h.threads = options.io_threads;
        h.most_connections = options.most_connections;
        h.most_header_bytes = options.most_header_bytes;
        h.most_body_bytes = options.most_body_bytes;
        h.idle = options.idle;
        h.receive = h.send = options.receive;
        if (options.http != "off") {
            h.address = options.http;
            h.certificate = options.certificate;
            h.key = options.key;
            http = std::make_unique<http_server>(
                h, *receiving,
                handlers("http",
                         [this](const http_request &r, const rest::run_later &later, rest::reply done) {
                             return paths->handle(r, later, std::move(done));
                         }));
        }
        check_certificate(options.certificate, options.key);
        if (options.grpc != "off")
            calls = std::make_unique<grpc_server>(
                grpc_options{
                    options.grpc, options.most_body_bytes, options.most_total_bytes,
                    options.most_header_bytes, options.idle, options.receive, options.certificate,
                    options.key, options.most_connections,
                    [this](std::size_t n) { figures.connections("grpc").Set(static_cast<double>(n)); }},
                *requests, secret, *receiving);
        if (options.metrics != "off") {
            h.address = options.metrics;
            h.threads = 1;
            h.certificate.clear();
            h.most_connections = 64;
            scrapes = std::make_unique<http_server>(
                h, *receiving,
                handlers("metrics",
                         [this](const http_request &r, const rest::run_later &later,
                                rest::reply done) -> std::shared_ptr<const service::call> {
                             if (r.target.substr(0, 11) == "/v2/health/")
                                 return paths->handle(r, later, std::move(done));
                             done(scrape(r));
                             return nullptr;
                         }));
        }
    }

    http_reply scrape(const http_request &r) {
        if (r.method != "GET" || r.target.substr(0, r.target.find('?')) != "/metrics")
            return error_reply(outcome::not_found, "GET /metrics and /v2/health are all there is here");
        models->update_gauges();
        http_reply reply;
        reply.type = "text/plain; version=0.0.4; charset=utf-8";
        reply.text = figures.text();
        return reply;
    }

    void load() {
        for (const model_source &source : options.sources)
            models->add(source);
        if (!options.models.empty()) {
            models->open(options.models);
            if (options.poll.count() > 0)
                models->watch(options.poll);
        }
    }
};

server::server(const server_options &options) : state_(std::make_unique<state>(options)) { state_->load(); }

server::~server() {
    state_->requests->stop();
    state_->models->stop();
    state_->workers->stop(); // its jobs are finished; connections that are left may still ask for it
}

unsigned short server::http_port() const { return state_->http ? state_->http->port() : 0; }
unsigned short server::grpc_port() const { return state_->calls ? state_->calls->port() : 0; }
unsigned short server::metrics_port() const { return state_->scrapes ? state_->scrapes->port() : 0; }

void server::reload() {
    const auto attempt = [&](const char *what, auto &&work) {
        try {
            work();
        } catch (const std::exception &e) {
            state_->out.error(std::string("reload: ") + what + ": " + e.what());
        }
    };
    attempt("token", [&] {
        if (!state_->options.token_file.empty())
            state_->secret.set(read_token(state_->options.token_file));
    });
    attempt("certificate", [&] {
        check_certificate(state_->options.certificate, state_->options.key);
        if (state_->http)
            state_->http->reload_certificate();
        if (state_->calls)
            state_->calls->reload_certificate();
    });
    attempt("access log", [&] { state_->out.reopen(); });
    attempt("models", [&] { state_->models->scan(true); });
}

bool server::stop() {
    state &s = *state_;
    s.requests->leave();
    if (s.calls)
        s.calls->tell_health();
    s.models->stop();
    std::this_thread::sleep_for(s.options.leave);
    const auto until = clock::now() + s.options.most_drain;
    s.requests->stop();
    if (s.http)
        s.http->drain();
    bool is_done = s.workers->wait_until_idle(until);
    if (s.calls)
        s.calls->drain(until);
    while (is_done && s.http && !s.http->is_idle()) { // replies that are being sent
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        is_done = clock::now() < until;
    }
    return is_done;
}

int server::run(const server_options &options, const std::string &greeting) {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&watched, number);
    pthread_sigmask(SIG_BLOCK, &watched, nullptr); // in all threads, which are made from here on
    std::signal(SIGPIPE, SIG_IGN);
    // Memory of an image is used again for the next one instead of being given back to the kernel and cleared by it.
    constexpr int kept = 32 << 20;
    mallopt(M_MMAP_THRESHOLD, kept);
    mallopt(M_TRIM_THRESHOLD, kept);
    server s(options);
    log &out = s.state_->out;
    const auto told = [](const std::string &address, unsigned short port) {
        return port == 0 ? std::string("off")
                         : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
    };
    out.info("octet " + std::string(version()) + " on " + to_string(get_effective_cpu_isa()) + ", " +
             std::to_string(s.state_->options.workers) + " workers; ready: HTTP " +
             told(options.http, s.http_port()) + ", gRPC " + told(options.grpc, s.grpc_port()) +
             ", metrics " + told(options.metrics, s.metrics_port()));
    std::cout << greeting << std::flush;
    for (;;) {
        int number = 0;
        sigwait(&watched, &number);
        if (number == SIGHUP) {
            s.reload();
            out.info("reloaded");
            continue;
        }
        out.info("stopping");
        const bool is_done = s.stop();
        out.info(is_done ? "stopped" : "stopped with requests left over, which took too long");
        return is_done ? 0 : 1;
    }
}

} // namespace octet::serve
