// gRPC's server: connections, TLS, limits. Connections are accepted here and handed over, so that they can be counted: gRPC's
// library would stop listening for good when no descriptor is left. Its methods are protocol.hpp's.
// SPDX-License-Identifier: Apache-2.0
#include "grpc/server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/address.hpp"
#include "grpc/flood_watch.hpp"
#include "grpc/protocol.hpp"

namespace octet::serve {
namespace {

std::string text_of(const std::string &path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file)
        throw error(status::invalid_arguments, path + ": cannot be read");
    return text.str();
}

/// A file in memory, which others open by its path.
class memory_file {
public:
    explicit memory_file(const char *name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
        if (descriptor_ < 0)
            throw error(status::runtime_error, std::string("no file in memory: ") + std::strerror(errno));
    }
    ~memory_file() { ::close(descriptor_); }
    memory_file(const memory_file &) = delete;
    memory_file &operator=(const memory_file &) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    void write(const std::string &text) const {
        if (::ftruncate(descriptor_, 0) != 0 ||
            ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw error(status::runtime_error,
                        std::string("no memory for a certificate: ") + std::strerror(errno));
    }

private:
    int descriptor_;
};

/// gRPC takes another certificate from files that it looks at every second, whatever is in them at that moment. It is
/// given copies, which change when the server is told to and the files were found to be good.
class watched_certificate {
public:
    void read(const grpc_options &o) const {
        const std::string key = text_of(o.key), certificate = text_of(o.certificate);
        const std::string authority = o.client_authority.empty() ? "" : text_of(o.client_authority);
        key_.write(key);
        certificate_.write(certificate);
        authority_.write(authority);
    }
    std::shared_ptr<grpc::ServerCredentials> credentials(bool asks_clients) const {
        using namespace grpc::experimental;
        constexpr unsigned seconds = 1;
        TlsServerCredentialsOptions tls(std::make_shared<FileWatcherCertificateProvider>(
            key_.path(), certificate_.path(), asks_clients ? authority_.path() : "", seconds));
        tls.watch_identity_key_cert_pairs();
        if (asks_clients)
            tls.watch_root_certs();
        tls.set_cert_request_type(asks_clients ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                               : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
        return TlsServerCredentials(tls);
    }

private:
    memory_file key_{"key"}, certificate_{"certificate"}, authority_{"authority"};
};

/// A listening socket. Throws octet::error.
int listen_on(const std::string &address, unsigned short &port) {
    const listen_address parsed = parse_address(address);
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(parsed.host.c_str(), parsed.port.c_str(), &hints, &found) != 0)
        throw error(status::invalid_arguments, "'" + address + "' given for gRPC: there is no such address");
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // Connections inherit the buffer: as much as the windows of a few streams, not megabytes of what has never been looked at.
    const int on = 1, buffer = 32 << 10;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    const bool is_good =
        ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 && ::listen(socket, 1024) == 0;
    const std::string why = std::strerror(errno);
    ::freeaddrinfo(found);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (!is_good || ::getsockname(socket, reinterpret_cast<sockaddr *>(&own), &size) != 0) {
        ::close(socket);
        throw error(status::invalid_arguments, "gRPC cannot listen on " + address + ": " + why);
    }
    port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(own).sin6_port
                                           : reinterpret_cast<sockaddr_in &>(own).sin_port);
    return socket;
}

/// Connections that gRPC's library holds. It doesn't tell when it closes one, but then the descriptor is none or another
/// file's.
class connections {
public:
    explicit connections(std::size_t most) : most_(most) {}
    bool has_room() { return count() < most_; }
    void add(int socket) {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_.push_back({socket, inode_of(socket), peer_of(socket)});
    }
    std::size_t count() {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_.erase(std::remove_if(open_.begin(), open_.end(), [](const one &c) { return !c.is_open(); }),
                    open_.end());
        return open_.size();
    }
    /// Bytes of all that were ever open.
    std::uint64_t received() {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (one &c : open_) {
            tcp_info info{};
            socklen_t size = sizeof info;
            if (!c.is_open() || ::getsockopt(c.socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
                info.tcpi_bytes_received < c.received)
                continue;
            c.lately = info.tcpi_bytes_received - c.received;
            c.received += c.lately;
            received_ += c.lately;
        }
        return received_;
    }
    /// Those that have sent since the last call but one of `received`.
    void cut_senders() {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const one &c : open_)
            if (c.lately > 0)
                c.cut();
    }
    /// By its name as `connection_of` tells it.
    void cut(const std::string &peer) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const one &c : open_)
            if (c.peer == peer)
                c.cut();
    }

private:
    static ino_t inode_of(int socket) {
        struct stat about {};
        return ::fstat(socket, &about) == 0 ? about.st_ino : 0;
    }
    static std::string peer_of(int socket) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
        ::getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size);
        ::getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
        const std::string name = host, mapped = "::ffff:";
        return (name.rfind(mapped, 0) == 0 ? name.substr(mapped.size()) : name) + ' ' + port;
    }
    struct one {
        int socket;
        ino_t inode;
        std::string peer;
        std::uint64_t received = 0, lately = 0; ///< bytes: in all, and between the last two looks
        bool is_open() const { return inode_of(socket) == inode; }
        /// What it has received and nobody has read is gone, too.
        void cut() const {
            const sockaddr nobody{AF_UNSPEC, {}};
            if (is_open())
                ::connect(socket, &nobody, sizeof nobody);
        }
    };
    const std::size_t most_;
    std::mutex mutex_; ///< of what follows
    std::vector<one> open_;
    std::uint64_t received_ = 0;
};

} // namespace

struct grpc_server::state {
    state(const grpc_options &o, service &s, const token &t, receive_budget &b)
        : options(o), methods(s, t, b, reading_places(o), o.receive), open(o.most_connections) {
        methods.resets.cut = [this](const std::string &peer) { open.cut(peer); };
    }
    ~state() {
        ::close(listener);
        ::close(wake);
    }

    /// Half of the memory for requests may be messages that are being read.
    static std::size_t reading_places(const grpc_options &o) {
        return std::max<std::size_t>(2, o.most_total_bytes / 2 / o.most_body_bytes);
    }

    void accept() {
        constexpr int seldom = 500; // where nobody is connected
        flood_watch floods(methods.budget, options.most_total_bytes / 2);
        const auto wait = [&] {
            return open.count() > 0 ? static_cast<int>(flood_watch::tick.count()) : seldom;
        };
        pollfd watched[2] = {{listener, POLLIN, 0}, {wake, POLLIN, 0}};
        while (::poll(watched, 2, wait()) >= 0 || errno == EINTR) {
            if (watched[1].revents)
                return;
            methods.room.look(clock::now());
            methods.watchers.tell();
            options.count_connections(open.count());
            const auto now = floods.look(open.received(), methods.requests.models.is_loading());
            if (now == flood_watch::state::flood)
                open.cut_senders();
            if (now != flood_watch::state::calm) // few are let in until it has passed
                std::this_thread::sleep_for(flood_watch::tick);
            if (now == flood_watch::state::flood || !watched[0].revents)
                continue;
            const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (socket < 0) { // no descriptors are left, for example: some will be free again
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                continue;
            }
            if (!open.has_room()) {
                ::close(socket);
                continue;
            }
            const int on = 1;
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            open.add(socket);
            grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters given;
            given.listener_fd = listener;
            given.fd = socket;
            acceptor->HandleNewConnection(&given);
        }
    }
    void stop_accepting() {
        const std::uint64_t one = 1;
        if (thread.joinable() && ::write(wake, &one, sizeof one) == sizeof one)
            thread.join();
    }

    grpc_options options;
    protocol methods;
    std::unique_ptr<watched_certificate> certificate; ///< null: no TLS; goes after the server
    connections open;
    int listener = -1, wake = -1;
    unsigned short port = 0;
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
    std::thread thread;
};

grpc_server::grpc_server(const grpc_options &options, service &s, const token &t, receive_budget &b)
    : state_(std::make_unique<state>(options, s, t, b)) {
    state_->listener = listen_on(options.address, state_->port);
    state_->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    grpc::ResourceQuota quota("octet");
    quota.Resize(options.most_total_bytes);
    grpc::ServerBuilder builder;
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(std::min<std::size_t>(options.most_body_bytes, 0x7fffffff)));
    const auto limit = [&](const char *name, std::int64_t value) {
        builder.AddChannelArgument(name, static_cast<int>(std::min<std::int64_t>(value, 0x7fffffff)));
    };
    limit(GRPC_ARG_MAX_METADATA_SIZE, static_cast<std::int64_t>(options.most_header_bytes));
    limit(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle.count());
    limit(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, options.receive.count());
    limit(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
    // A small message may unpack to gigabytes, and its limit of size is that of the packed one.
    for (const auto packed : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
        builder.SetCompressionAlgorithmSupportStatus(packed, false);
    limit(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    limit(GRPC_ARG_HTTP2_BDP_PROBE, 0); // what is sent and not read yet stays small
    if (!options.certificate.empty()) {
        state_->certificate = std::make_unique<watched_certificate>();
        state_->certificate->read(options);
    }
    state_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        state_->certificate ? state_->certificate->credentials(!options.client_authority.empty())
                            : grpc::InsecureServerCredentials());
    builder.RegisterService(&state_->methods);
    state_->server = builder.BuildAndStart();
    if (!state_->server)
        throw error(status::runtime_error, "gRPC cannot be started");
    state_->thread = std::thread([this] { state_->accept(); });
}

grpc_server::~grpc_server() { drain(clock::now()); }

unsigned short grpc_server::port() const { return state_->port; }

void grpc_server::reload_certificate() {
    if (state_->certificate)
        state_->certificate->read(state_->options);
}

void grpc_server::tell_health() { state_->methods.watchers.tell(); }

void grpc_server::drain(clock::time_point until) {
    state_->stop_accepting();
    state_->methods.end_streams();
    if (state_->server)
        state_->server->Shutdown(std::chrono::system_clock::now() +
                                 std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::max(until - clock::now(), clock::duration(0))));
}

} // namespace octet::serve
