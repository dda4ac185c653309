// The REST protocol and those who should not get far: broken clients, limits, tokens, a server that ends meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "http/server.hpp"
#include "serve/tests/fixture.hpp"

namespace octet::tests {
namespace {

/// One server for the tests that change nothing of it.
serve::server &demo() {
    static serve::server s(demo_options());
    return s;
}

} // namespace

TEST(serve_http, survives_broken_clients) {
    const unsigned short port = demo().http_port();
    const auto status_of = [&](const std::string &bytes) {
        client c(port);
        c.send(bytes);
        return c.receive().status;
    };
    EXPECT_EQ(status_of("nonsense\r\n\r\n"), 400);
    EXPECT_EQ(status_of(std::string("\0\1\2\r\n\r\n", 7)), 400);
    EXPECT_EQ(status_of("GET /v2 HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"), 431);
    EXPECT_EQ(
        status_of("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"),
        413);
    EXPECT_EQ(status_of("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
              400);
    EXPECT_EQ(
        status_of("POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx"),
        415);
    EXPECT_EQ(status_of("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                        "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
              400);
    EXPECT_EQ(status_of("GET v2 HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
    for (int i = 0; i < 20; i++) { // they leave in the middle of a header, of a body, before the reply
        client(port).send("POST /v2/mod");
        client(port).send("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
        const std::string body = json_request(std::string(64, '\0'));
        client(port).send("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    EXPECT_EQ(client(port).post(digits_path, json_request(std::string(64, '\0'))).status, 200);
}

// Bytes that are read as one message here have to be one message for a proxy in front, too.
TEST(serve_http, messages_that_could_be_read_in_two_ways) {
    const auto status_of = [&](const std::string &bytes) {
        client c(demo().http_port());
        c.send(bytes);
        return c.receive().status;
    };
    const std::string post = "POST /v2/repository/index HTTP/1.1\r\nHost: x\r\n";
    EXPECT_EQ(status_of(post + "Transfer-Encoding: gzip\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), 200);
    EXPECT_EQ(status_of("GET /v2 HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /v2 HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /v2 HTTP/1.0\r\n\r\n"), 200);
    EXPECT_EQ(status_of("POST /v2/repository/index HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              400);
    EXPECT_EQ(status_of("GET http://x/v2 HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(serve_http, control_requests_are_small_and_flat) {
    client c(demo().http_port());
    const auto index = [&](const std::string &body) { return c.post("/v2/repository/index", body).status; };
    EXPECT_EQ(index(R"({"ready": true})"), 200);
    EXPECT_EQ(index(std::string(60'000, '[')), 400);
    EXPECT_EQ(index(R"({"ready": true, "ready": false})"), 400);
    std::string deep;
    for (int i = 0; i < 10'000; i++)
        deep += "{\"\":";
    EXPECT_EQ(index(deep), 400);
    EXPECT_EQ(index(std::string(70'000, ' ')), 413);
}

TEST(serve_http, errors_echo_little) {
    client c(demo().http_port());
    const std::string name(10'000, 'x');
    EXPECT_LT(c.post(digits_path, "{\"inputs\":[{\"name\":\"" + name + "\"}]}").body.size(), 300u);
    EXPECT_LT(c.get("/v2/models/" + name).body.size(), 300u);
    EXPECT_EQ(c.post(digits_path, "{\"id\":\"" + name + "\"}").status, 400);
}

TEST(serve_http, limits_of_time_and_connections) {
    serve::server_options o = demo_options();
    o.receive = o.idle = std::chrono::milliseconds(150);
    o.most_connections = 3;
    serve::server s(o);
    client half(s.http_port()), silent(s.http_port());
    half.send("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    EXPECT_TRUE(half.is_closed_by_server());
    o.idle = std::chrono::hours(1);
    serve::server patient_between(o);
    client slow(patient_between.http_port());
    slow.send("GET /v2 HTTP/1.1\r\n"); // and no more
    EXPECT_TRUE(slow.is_closed_by_server());
    o.idle = std::chrono::milliseconds(150);
    EXPECT_TRUE(silent.is_closed_by_server());
    o.idle = std::chrono::hours(1);
    serve::server patient(o);
    client a(patient.http_port()), b(patient.http_port()), c(patient.http_port());
    for (client *one : {&a, &b, &c})
        EXPECT_EQ(one->get("/v2/health/live").status, 200);
    client d(patient.http_port());
    EXPECT_EQ(d.receive().status, 503);
}

TEST(serve_http, a_token_is_required_if_there_is_one) {
    const std::string file = testing::TempDir() + "octet_serve_token";
    std::ofstream(file) << "secret\n";
    serve::server_options o = demo_options();
    o.token_file = file;
    serve::server s(o);
    client c(s.http_port());
    EXPECT_EQ(c.get("/v2/health/ready").status, 200);
    EXPECT_EQ(c.get("/v2").status, 401);
    EXPECT_EQ(c.get("/v2", "Authorization: Bearer secreT\r\n").status, 401);
    EXPECT_EQ(c.get("/v2", "Authorization: Bearer secret\r\n").status, 200);
    EXPECT_EQ(c.get("/v2", "Authorization: bearer secret\r\n").status, 200);
    EXPECT_EQ(c.get("/v2", "Authorization: Basic secret\r\n").status, 401);
    EXPECT_EQ(c.get("/").status, 200) << "the page has no figures in it";
    EXPECT_EQ(c.get("/metrics").status, 401);
    client stranger(s.http_port()); // is told before it sends a body
    stranger.send("POST " + std::string(digits_path) +
                  " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_EQ(stranger.receive().status, 401);
    std::ofstream(file) << "other\n";
    s.reload();
    EXPECT_EQ(c.get("/v2", "Authorization: Bearer secret\r\n").status, 401);
    EXPECT_EQ(c.get("/v2", "Authorization: Bearer other\r\n").status, 200);
}

TEST(serve_http, tokens_open_models) {
    const std::string file = testing::TempDir() + "octet_serve_tokens";
    std::ofstream(file) << "# who may what\nall\none digits other\nnone other\n";
    serve::server_options o = demo_options();
    o.token_file = file;
    o.are_metrics_open = false;
    serve::server s(o);
    client c(s.http_port()), m(s.metrics_port());
    const auto status = [&](const std::string &path, const std::string &secret) {
        return c.get(path, "Authorization: Bearer " + secret + "\r\n").status;
    };
    for (const char *path : {"/v2", "/v2/models/digits", "/v2/models/digits/stats"}) {
        EXPECT_EQ(status(path, "all"), 200) << path;
        EXPECT_EQ(status(path, "one"), 200) << path;
        EXPECT_EQ(status(path, "none"), path == std::string("/v2") ? 200 : 403) << path;
        EXPECT_EQ(status(path, "#"), 401) << path;
    }
    for (const char *path : {"/v2/models/stats", "/metrics"}) {
        EXPECT_EQ(status(path, "all"), 200) << path;
        EXPECT_EQ(status(path, "one"), 403) << path;
    }
    const auto infer = [&](const std::string &secret) {
        return c
            .post(digits_path, json_request(std::string(64, '\1')),
                  "Authorization: Bearer " + secret + "\r\n")
            .status;
    };
    EXPECT_EQ(infer("one"), 200);
    client refused(s.http_port());
    EXPECT_EQ(refused.post(digits_path, json_request(std::string(64, '\1')), "Authorization: Bearer none\r\n")
                  .status,
              403);
    EXPECT_EQ(m.get("/metrics").status, 401);
    EXPECT_EQ(m.get("/metrics", "Authorization: Bearer one\r\n").status, 403);
    EXPECT_EQ(m.get("/metrics", "Authorization: Bearer all\r\n").status, 200);
    EXPECT_EQ(m.get("/v2/health/live").status, 200);
}

TEST(serve_http, stops_in_good_order) {
    serve::server s(demo_options());
    digits_oracle oracle;
    std::atomic<bool> is_over{false};
    std::atomic<int> good{0}, wrong{0};
    std::vector<std::thread> clients;
    for (unsigned i = 1; i <= 4; i++)
        clients.emplace_back([&, i] {
            std::minstd_rand random(i);
            digits_oracle mine;
            client c(s.http_port());
            while (!is_over) {
                std::string head;
                const std::string codes = random_codes(random, 1 + random() % 4),
                                  body = binary_request(codes, head);
                const http_answer answer = c.post(digits_path, body, head);
                if (answer.status == 0)
                    return; // closed between requests
                if (answer.status == 200)
                    (binary_part(answer) == mine(codes) ? good : wrong)++;
                else
                    EXPECT_EQ(answer.status, 503);
            }
        });
    while (good < 200 && wrong == 0)
        std::this_thread::yield();
    EXPECT_TRUE(s.stop());
    is_over = true;
    for (std::thread &t : clients)
        t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_FALSE(client(s.http_port()).is_connected());
}

/// The refusal of such a request asks the scheduler, which has stopped by then.
TEST(serve_http, may_end_while_a_loop_reads_a_request) {
    serve::server_options options = demo_options();
    options.io_threads = 1;
    auto s = std::make_unique<serve::server>(options);
    const std::string body = json_request(std::string(64 * 50'000, '\1'));
    client c(s->http_port());
    c.send("POST " + std::string(digits_path) + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, body.size() - 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // so that all of it is there
    c.send(body.substr(body.size() - 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    s.reset();
}

/// The end may come before the loop has looked at what `drain` asked of it.
TEST(serve_http, may_drain_and_end_at_once) {
    serve::receive_budget budget(1 << 20);
    for (int i = 0; i < 500; i++) {
        serve::listen_options options;
        options.address = "127.0.0.1:0";
        serve::listen_http(options, budget, {})->drain(std::chrono::milliseconds(i % 2));
    }
}

} // namespace octet::tests
