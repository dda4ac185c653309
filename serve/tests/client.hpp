#pragma once // SPDX-License-Identifier: Apache-2.0

// A client that sends any bytes: what tests of a server need, and no library does.

#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace octet::tests {

struct http_answer {
    int status = 0; ///< 0: the connection was closed without an answer
    std::string head, body;
    std::string header(const std::string &name) const {
        const std::size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos)
            return "";
        const std::size_t from = at + name.size() + 4;
        return head.substr(from, head.find("\r\n", from) - from);
    }
};

class client {
public:
    explicit client(unsigned short port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
    }
    ~client() { ::close(socket_); }
    client(const client &) = delete;
    client &operator=(const client &) = delete;
    bool is_connected() const { return is_connected_; }

    void send(const std::string &bytes) const {
        for (std::size_t at = 0; at < bytes.size();) {
            const auto sent = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
            if (sent <= 0)
                return;
            at += static_cast<std::size_t>(sent);
        }
    }
    http_answer receive() {
        http_answer answer;
        std::size_t end;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
            if (!read_more())
                return answer;
        answer.head = buffer_.substr(0, end + 2);
        answer.status = std::stoi(answer.head.substr(9, 3));
        buffer_.erase(0, end + 4);
        if (answer.status == 100)
            return receive();
        const std::string length = answer.header("Content-Length");
        const std::size_t size = length.empty() ? 0 : std::stoul(length);
        while (buffer_.size() < size)
            if (!read_more())
                break;
        answer.body = buffer_.substr(0, size);
        buffer_.erase(0, size);
        return answer;
    }
    http_answer get(const std::string &path, const std::string &headers = "") {
        send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
        return receive();
    }
    http_answer post(const std::string &path, const std::string &body, const std::string &headers = "") {
        send("POST " + path + " HTTP/1.1\r\nHost: x\r\n" + headers +
             "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        return receive();
    }
    /// True if the server closes the connection, without more bytes.
    bool is_closed_by_server() {
        char byte;
        return ::recv(socket_, &byte, 1, 0) <= 0;
    }

private:
    bool read_more() {
        char bytes[65536];
        const auto got = ::recv(socket_, bytes, sizeof bytes, 0);
        if (got > 0)
            buffer_.append(bytes, static_cast<std::size_t>(got));
        return got > 0;
    }
    int socket_;
    bool is_connected_ = false;
    std::string buffer_;
};

} // namespace octet::tests
