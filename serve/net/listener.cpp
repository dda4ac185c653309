// Accepts, counts and places connections. What fails for want of a descriptor is tried again a moment later.
// SPDX-License-Identifier: Apache-2.0
#include "net/listener.hpp"

#include <boost/asio/post.hpp>
#include <linux/filter.h>
#include <sys/socket.h>

#include "core/address.hpp"
#include "net/connection.hpp"
#include "net/tls.hpp"

namespace octet::serve {

namespace {

tcp::endpoint endpoint_of(asio::io_context &context, const std::string &address) {
    const listen_address parsed = parse_address(address);
    error_code failed;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(parsed.host, parsed.port, tcp::resolver::passive, failed);
    if (failed || found.empty())
        throw error(status::invalid_arguments, "'" + address + "': " + failed.message());
    return found.begin()->endpoint();
}

tls_context tls_of(const listen_options &o) {
    return make_tls(o.certificate, o.key, o.client_authority, o.protocol);
}

} // namespace

struct listener::state {
    state(const listen_options &o, receive_budget &b, maker m) : all(o, b), make(std::move(m)) {}

    shared_by_connections all;
    const maker make;
    std::vector<std::unique_ptr<loop>> loops;
    std::unique_ptr<tcp::acceptor> acceptor;
    std::unique_ptr<asio::steady_timer> pause, end; ///< without descriptors; of accepting
    std::size_t next = 0;
    unsigned short port = 0;

    void accept() {
        loop &l = *loops[next++ % loops.size()];
        acceptor->async_accept(l.context, [this, &l](error_code failed, tcp::socket socket) {
            if (failed == asio::error::operation_aborted || !all.is_accepting)
                return;
            if (failed) { // no descriptors are left, for example: some will be free again
                pause->expires_after(tick);
                pause->async_wait([this](error_code e) {
                    if (!e)
                        accept();
                });
                return;
            }
            try {
                welcome(l, std::move(socket));
            } catch (const std::bad_alloc &) { // one connection less
            }
            accept();
        });
    }

    /// Whoever has connected by now is answered: what waits to be accepted when a listening socket is closed
    /// would be reset. So nobody may begin to connect first, while those that have begun go on.
    void stop_accepting() {
        sock_filter without_syn[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), // the flags of TCP
                                     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
        const sock_fprog filter = {4, without_syn};
        ::setsockopt(acceptor->native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
        end->expires_after(tick); // for handshakes that are under way
        end->async_wait([this](error_code failed) {
            if (!failed)
                close_acceptor();
        });
    }
    void close_acceptor() {
        error_code failed;
        acceptor->non_blocking(true, failed);
        while (!failed) {
            tcp::socket socket(loops.front()->context);
            acceptor->accept(socket, failed);
            if (!failed)
                welcome(*loops.front(), std::move(socket));
        }
        all.is_accepting = false;
        acceptor->close(failed);
    }

    void welcome(loop &l, tcp::socket socket) {
        error_code ignored;
        if (all.connections >= all.options.most_connections)
            return turn_away(socket, all.options);
        socket.set_option(tcp::no_delay(true), ignored);
        const auto given = std::make_shared<tcp::socket>(std::move(socket));
        asio::post(l.context, [this, &l, given] {
            tls_context tls;
            {
                const std::lock_guard<std::mutex> lock(all.mutex);
                tls = all.tls;
            }
            make({std::move(*given), l, all, std::move(tls)})->begin();
        });
    }
};

listener::listener(const listen_options &options, receive_budget &budget, maker make)
    : state_(std::make_unique<state>(options, budget, std::move(make))) {
    state &s = *state_;
    s.all.tls = tls_of(options);
    for (int i = 0; i < std::max(1, options.threads); i++)
        s.loops.push_back(std::make_unique<loop>(budget));
    asio::io_context &first = s.loops.front()->context;
    try {
        const tcp::endpoint endpoint = endpoint_of(first, options.address);
        s.acceptor = std::make_unique<tcp::acceptor>(first);
        s.acceptor->open(endpoint.protocol());
        s.acceptor->set_option(tcp::acceptor::reuse_address(true));
        s.acceptor->bind(endpoint);
        s.acceptor->listen(1024);
        s.port = s.acceptor->local_endpoint().port();
    } catch (const boost::system::system_error &e) {
        throw error(status::invalid_arguments,
                    "cannot listen on " + options.address + ": " + e.code().message());
    }
    s.pause = std::make_unique<asio::steady_timer>(first);
    s.accept();
    for (const auto &l : s.loops) {
        l->start_ticking();
        l->thread = std::thread([&l = *l] { l.run(); });
    }
}

listener::~listener() {
    for (const auto &l : state_->loops)
        l->context.stop();
    for (const auto &l : state_->loops)
        l->thread.join();
    error_code ignored;
    state_->acceptor->close(ignored); // a `drain` that has not come yet closes it, too
    state_->pause->cancel();
    if (state_->end)
        state_->end->cancel();
    for (const auto &l : state_->loops) { // connections go with the handlers that hold them
        l->work.reset();
        l->context.restart();
        for (connection *c : std::list<connection *>(l->connections))
            c->close();
        l->timer.cancel();
        l->context.poll();
    }
}

unsigned short listener::port() const { return state_->port; }

void listener::reload_certificate() {
    auto next = tls_of(state_->all.options);
    const std::lock_guard<std::mutex> lock(state_->all.mutex);
    state_->all.tls = std::move(next);
}

void listener::leave() { state_->all.is_leaving = true; }

void listener::drain(std::chrono::milliseconds grace) {
    leave();
    state_->all.grace = grace;
    state_->all.end_of_grace = clock::now() + grace;
    asio::post(state_->loops.front()->context, [s = state_.get(), grace] {
        s->end = std::make_unique<asio::steady_timer>(s->loops.front()->context, grace);
        s->end->async_wait([s](error_code failed) {
            if (!failed)
                s->stop_accepting();
        });
    });
}

bool listener::is_idle() const { return state_->all.connections == 0 && !state_->all.is_accepting; }

} // namespace octet::serve
