// Folders of models that change while they are served.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/tests/fixture.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder that goes with the test.
struct folder {
    fs::path path;
    folder()
        : path(fs::path(testing::TempDir()) /
               ("octet_serve_" + std::to_string(::getpid()) + '_' + std::to_string(next++))) {
        fs::create_directories(path);
    }
    ~folder() { fs::remove_all(path); }
    void write(const std::string &name, const std::string &bytes) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name, std::ios::binary) << bytes;
    }
    static inline int next = 0;
};

std::string digits_bytes() { return serve::demo_model().bytes; }

serve::server_options of_folder(const folder &f) {
    serve::server_options o = on_free_ports();
    o.models = f.path.string();
    o.may_change_models = true;
    return o;
}

json index_of(client &c) { return json::parse(c.post("/v2/repository/index", "").body); }

int status_of(client &c, const std::string &model, const std::string &version = "") {
    return c.get("/v2/models/" + model + (version.empty() ? "" : "/versions/" + version) + "/ready").status;
}

} // namespace

TEST(serve_repository, models_come_change_and_go) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("digits/config.json", R"({"max_batch_size": 4, "preferred_batch_sizes": [4]})");
    f.write(".hidden/1/model.tflite", digits_bytes());
    f.write("empty/readme.txt", "");
    serve::server s(of_folder(f));
    client c(s.http_port());
    EXPECT_EQ(status_of(c, "digits"), 200);
    EXPECT_EQ(status_of(c, ".hidden"), 404);
    EXPECT_EQ(status_of(c, "empty"), 503);

    f.write("digits/2/model.tflite", digits_bytes());
    f.write("other/7/model.tflite", digits_bytes());
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "2"), 200);
    EXPECT_EQ(status_of(c, "digits", "1"), 404) << "the highest version alone";
    EXPECT_EQ(index_of(c).size(), 3u);
    EXPECT_EQ(status_of(c, "other", "7"), 200);

    fs::remove_all(f.path / "other");
    fs::remove_all(f.path / "digits/2");
    s.reload();
    EXPECT_EQ(status_of(c, "other"), 404);
    EXPECT_EQ(status_of(c, "digits", "1"), 200) << "the one before is there again";
}

/// All models are of one file, whose bytes differ with each profile.
TEST(serve_repository, models_have_the_profile_of_the_server_or_their_own) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("digits/config.json", R"({"max_batch_size": 64})");
    f.write("own/1/model.tflite", digits_bytes());
    f.write("own/config.json", R"({"max_batch_size": 64, "profile": "litert-2026.08-arm64"})");
    serve::server_options o = of_folder(f);
    o.profile = "litert-2026.08-x86-builtin";
    serve::server s(o);
    client c(s.http_port());
    std::minstd_rand random(7);
    const std::string codes = random_codes(random, 64);
    std::string head;
    const std::string body = binary_request(codes, head);
    const auto answer = [&](const std::string &model) {
        return binary_part(c.post("/v2/models/" + model + "/infer", body, head));
    };
    const std::string of_server = digits_oracle(o.profile)(codes),
                      of_own = digits_oracle("litert-2026.08-arm64")(codes);
    ASSERT_NE(of_server, of_own);
    EXPECT_EQ(answer("digits"), of_server);
    EXPECT_EQ(answer("own"), of_own);
    for (const char *none : {"ort-1.30", "litert"}) {
        o.profile = none;
        EXPECT_THROW(serve::server{o}, error) << none;
    }
}

TEST(serve_repository, rows_of_onnx_models_are_alike_unless_the_server_or_they_say_no) {
    std::ifstream file(source_path("examples/digits/digits_int8.onnx"), std::ios::binary);
    const std::string onnx{std::istreambuf_iterator<char>(file), {}};
    const folder f;
    f.write("digits/1/model.onnx", onnx);
    f.write("own/1/model.onnx", onnx);
    f.write("tflite/1/model.tflite", digits_bytes());
    const auto said_of = [&](client &c, const std::string &name) {
        const json properties = json::parse(c.get("/v2/models/" + name).body)["properties"];
        return properties.value("rows_alike", "nothing");
    };
    serve::server_options o = of_folder(f);
    for (const bool alike : {true, false}) {
        f.write("own/config.json", alike ? R"({"rows_alike": false})" : R"({"rows_alike": true})");
        o.rows_alike = alike;
        serve::server s(o);
        client c(s.http_port());
        if (index_of(c).dump().find("built without .onnx files") != std::string::npos)
            GTEST_SKIP() << "no .onnx files";
        EXPECT_EQ(said_of(c, "digits"), alike ? "true" : "false");
        EXPECT_EQ(said_of(c, "own"), alike ? "false" : "true");
        EXPECT_EQ(said_of(c, "tflite"), "nothing");
        const json config = json::parse(c.get("/v2/models/digits/config").body);
        EXPECT_EQ(config["max_batch_size"] != 0, alike);
    }
}

TEST(serve_repository, figures_go_with_their_version) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    serve::server s(of_folder(f));
    client c(s.http_port()), m(s.metrics_port());
    const auto rows_of = [&](const std::string &version) {
        const std::string text = m.get("/metrics").body, label = "model=\"digits\"";
        std::size_t rows = 0;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            rows += line.find(label) != std::string::npos &&
                    line.find("version=\"" + version + '"') != std::string::npos;
        return rows;
    };
    const auto ask = [&] {
        std::string head;
        const std::string body = binary_request(std::string(64, '\1'), head);
        EXPECT_EQ(c.post(digits_path, body, head).status, 200);
    };
    ask();
    const std::size_t rows = rows_of("1");
    EXPECT_GT(rows, 50u);
    EXPECT_EQ(m.get("/metrics").body.find("octet_model_weight_bytes{model=\"digits\",version=\"1\"} 0\n"),
              std::string::npos);
    f.write("digits/1/model.tflite", digits_bytes() + '\0'); // replaced: the figures go on
    s.reload();
    ask();
    EXPECT_EQ(rows_of("1"), rows);
    EXPECT_NE(
        m.get("/metrics").body.find("octet_requests_total{model=\"digits\",result=\"ok\",version=\"1\"} 2\n"),
        std::string::npos);
    f.write("digits/2/model.tflite", digits_bytes());
    s.reload();
    ask();                   // the connection had a share in the version before
    while (rows_of("1") > 0) // a worker may still hold it
        std::this_thread::yield();
    EXPECT_EQ(rows_of("2"), rows);
}

// Tensors of 64 KB are read by the network where they were received; they come in pieces, at any offset
// behind the JSON.
TEST(serve_repository, large_bodies_come_in_pieces) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("digits/config.json", R"({"max_batch_size": 1024, "preferred_batch_sizes": [1024]})");
    serve::server s(of_folder(f));
    digits_oracle oracle;
    std::minstd_rand random(9);
    client c(s.http_port());
    for (const std::size_t rows : {1024u, 3u, 1024u, 1000u, 1024u}) {
        std::string head;
        const std::string codes = random_codes(random, rows), body = binary_request(codes, head);
        c.send("POST " + std::string(digits_path) + " HTTP/1.1\r\nHost: x\r\n" + head +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
        for (std::size_t at = 0, piece = 0; at < body.size(); at += piece) {
            piece = std::min<std::size_t>(body.size() - at, 1 + random() % 40'000);
            c.send(body.substr(at, piece));
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        EXPECT_EQ(binary_part(c.receive()), oracle(codes));
    }
}

TEST(serve_repository, overload_is_answered_at_once) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("digits/config.json", R"({"max_batch_size": 512, "instances": 1, "max_queued_requests": 1})");
    serve::server s(of_folder(f));
    std::atomic<int> good{0}, refused{0}, wrong{0};
    std::vector<std::thread> clients;
    for (unsigned i = 1; i <= 8; i++)
        clients.emplace_back([&, i] {
            std::minstd_rand random(i);
            std::string head;
            const std::string codes = random_codes(random, 512), body = binary_request(codes, head),
                              expected = digits_oracle()(codes);
            client c(s.http_port());
            while (good == 0 || refused == 0) {
                const http_answer answer = c.post(digits_path, body, head);
                if (answer.status == 503)
                    (answer.header("Retry-After") == "1" ? refused : wrong)++;
                else
                    (binary_part(answer) == expected ? good : wrong)++;
            }
        });
    for (std::thread &t : clients)
        t.join();
    EXPECT_EQ(wrong, 0);
}

TEST(serve_repository, the_last_version_stays_until_another_is_there) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    serve::server s(of_folder(f));
    client c(s.http_port());
    f.write("digits/2/model.tflite", "not yet");
    fs::remove_all(f.path / "digits/1");
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "1"), 200);
    f.write("digits/2/model.tflite", digits_bytes());
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "1"), 404);
    EXPECT_EQ(status_of(c, "digits", "2"), 200);
    fs::remove_all(f.path / "digits/2");
    s.reload();
    EXPECT_EQ(status_of(c, "digits"), 404);
}

// A thread of its own looks, while others ask, tell to look at once and read the figures.
TEST(serve_repository, the_folder_is_watched) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    serve::server_options o = of_folder(f);
    o.poll = std::chrono::milliseconds(1);
    serve::server s(o);
    client c(s.http_port()), m(s.metrics_port());
    for (const char *version : {"2", "3"}) {
        f.write(std::string("digits/") + version + "/model.tflite", digits_bytes());
        while (status_of(c, "digits", version) != 200) {
            std::string head;
            const std::string codes(64, '\3'), body = binary_request(codes, head);
            EXPECT_EQ(c.post(digits_path, body, head).status, 200);
            EXPECT_EQ(m.get("/metrics").status, 200);
            index_of(c);
        }
    }
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "3"), 200);
}

TEST(serve_repository, what_cannot_be_loaded_changes_nothing) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("broken/1/model.tflite", "nothing");
    serve::server s(of_folder(f));
    client c(s.http_port());
    EXPECT_EQ(c.get("/v2/health/ready").status, 503);
    EXPECT_EQ(status_of(c, "broken"), 503);
    f.write("digits/2/model.tflite", digits_bytes().substr(0, 5000));
    f.write("digits/1/model.tflite", "worse");
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "1"), 200);
    EXPECT_EQ(status_of(c, "digits", "2"), 503);
    std::string head;
    const std::string codes(64, '\1'), body = binary_request(codes, head);
    EXPECT_EQ(binary_part(c.post(digits_path, body, head)), digits_oracle()(codes));
    f.write("digits/config.json", "{\"max_batch_size\": \"many\"}");
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "1"), 200);
    int reasons = 0;
    for (const json &row : index_of(c))
        reasons += !row["reason"].get<std::string>().empty();
    EXPECT_EQ(reasons, 4);
    f.write("digits/config.json", "{\"memory_limit\": 1000}");
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "1"), 200);
    f.write("digits/config.json", "{}");
    f.write("digits/2/model.tflite", digits_bytes());
    s.reload();
    EXPECT_EQ(status_of(c, "digits", "2"), 200);
}

TEST(serve_repository, refuses_tritons_configuration_where_no_own_one_stands_beside_it) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    f.write("digits/config.pbtxt", "max_batch_size: 4");
    serve::server s(of_folder(f));
    client c(s.http_port());
    EXPECT_EQ(status_of(c, "digits"), 503);
    EXPECT_NE(index_of(c)[0]["reason"].get<std::string>().find("config.pbtxt: Triton's"), std::string::npos);
    f.write("digits/config.json", "{}");
    s.reload();
    EXPECT_EQ(status_of(c, "digits"), 200);
}

TEST(serve_repository, clients_load_and_unload) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    serve::server s(of_folder(f));
    client c(s.http_port());
    const auto post = [&](const std::string &what) {
        return c.post("/v2/repository/models/" + what, "").status;
    };
    EXPECT_EQ(post("digits/unload"), 200);
    EXPECT_EQ(status_of(c, "digits"), 404);
    s.reload();
    EXPECT_EQ(status_of(c, "digits"), 404) << "stays unloaded";
    EXPECT_EQ(post("digits/load"), 200);
    EXPECT_EQ(status_of(c, "digits"), 200);
    EXPECT_EQ(post("none/load"), 404);
    EXPECT_EQ(post("none/unload"), 404);
    EXPECT_EQ(post("..%2Fdigits/load"), 404);
    EXPECT_EQ(post("digits/explode"), 404);
}

// Every answer is compared with the network's own, whatever it was batched with and whichever version gave it.
TEST(serve_repository, no_request_fails_or_changes_while_versions_do) {
    const folder f;
    f.write("digits/1/model.tflite", digits_bytes());
    serve::server s(of_folder(f));
    std::atomic<bool> is_over{false};
    std::atomic<int> good{0}, bad{0};
    std::vector<std::thread> clients;
    for (unsigned i = 1; i <= 8; i++)
        clients.emplace_back([&, i] {
            std::minstd_rand random(i);
            digits_oracle oracle;
            client c(s.http_port());
            while (!is_over) {
                std::string head;
                const std::string codes = random_codes(random, 1 + random() % 5),
                                  body = binary_request(codes, head);
                const http_answer answer = c.post(digits_path, body, head);
                if (answer.status == 200 && binary_part(answer) == oracle(codes)) {
                    good++;
                    continue;
                }
                bad++;
                ADD_FAILURE() << answer.status << ": " << answer.body;
            }
        });
    for (int version = 2; version <= 12; version++) {
        const int before = good;
        f.write("digits/" + std::to_string(version) + "/model.tflite", digits_bytes());
        if (version % 3 == 0)
            f.write("digits/config.json",
                    version % 2 ? R"({"preferred_batch_sizes": [8]})" : R"({"max_batch_size": 5})");
        s.reload();
        while (good < before + 50 && bad == 0)
            std::this_thread::yield();
    }
    is_over = true;
    for (std::thread &t : clients)
        t.join();
    EXPECT_EQ(bad, 0);
    EXPECT_GE(good, 11 * 50);
}

} // namespace octet::tests
