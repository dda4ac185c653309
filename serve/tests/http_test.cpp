// The REST protocol over sockets: what it answers, and that it survives clients of every kind.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "http/server.hpp"
#include "serve/tests/fixture.hpp"

namespace octet::tests {
namespace {

using nlohmann::json;

/// One server for the tests that change nothing of it.
serve::server &demo() {
    static serve::server s(demo_options());
    return s;
}

std::string ask(const std::string &body, int status, const std::string &headers = "") {
    client c(demo().http_port());
    const http_answer answer = c.post(digits_path, body, headers);
    EXPECT_EQ(answer.status, status) << body.substr(0, 200) << '\n' << answer.body;
    return answer.body;
}

void expect_refusal(const std::string &body, const std::string &part, int status = 400,
                    const std::string &headers = "") {
    const json answer = json::parse(ask(body, status, headers));
    EXPECT_NE(answer["error"].get<std::string>().find(part), std::string::npos) << body.substr(0, 200) << '\n'
                                                                                << answer.dump();
}

std::string with_tensor(const std::string &fields) { return "{\"inputs\":[{" + fields + "}]}"; }

} // namespace

TEST(serve_http, tells_about_server_and_models) {
    client c(demo().http_port());
    EXPECT_EQ(c.get("/v2/health/live").status, 200);
    EXPECT_EQ(c.get("/v2/health/ready").status, 200);
    EXPECT_EQ(json::parse(c.get("/v2").body)["name"], "octet");
    const json names = json::parse(c.get("/v2/models").body)["models"];
    EXPECT_EQ(std::count(names.begin(), names.end(), "digits"), 1) << names;
    EXPECT_EQ(c.get("/v2/models/").body, c.get("/v2/models").body);
    EXPECT_EQ(c.post("/v2/models", "{}").header("Allow"), "GET");
    EXPECT_EQ(c.get("/v2/models/digits/ready").status, 200);
    EXPECT_EQ(c.get("/v2/models/digits/versions/1/ready").status, 200);
    EXPECT_EQ(c.get("/v2/models/digits/versions/2/ready").status, 404);
    EXPECT_EQ(c.get("/v2/models/none").status, 404);
    EXPECT_EQ(c.get("/v2/models/di%67its").status, 200);
    EXPECT_EQ(c.get("/v2/models/%zz").status, 400);
    EXPECT_EQ(c.get("/elsewhere").status, 404);
    EXPECT_EQ(json::parse(c.get("/v2/health/live").body), json::parse(R"({"live":true})"));
    EXPECT_EQ(json::parse(c.get("/v2/health/ready").body), json::parse(R"({"ready":true})"));
    EXPECT_EQ(json::parse(c.get("/v2/models/digits/ready").body),
              json::parse(R"({"name":"digits","ready":true})"));
    for (const char *path : {"/v2/models/digits/infer", "/v2/repository/index"}) {
        const http_answer answer = c.get(path);
        EXPECT_EQ(answer.status, 405) << path;
        EXPECT_EQ(answer.header("Allow"), "POST") << path;
    }
    EXPECT_EQ(c.post("/v2/models/digits", "{}").header("Allow"), "GET");
    const json model = json::parse(c.get("/v2/models/digits").body);
    EXPECT_EQ(model["inputs"][0], json::parse(
                                      R"({"name":"image","datatype":"INT8","shape":[-1,8,8,1],
                "quantization":{"scale":0.0078125,"zero_point":-128}})"));
    EXPECT_EQ(json::parse(c.post("/v2/repository/index", "").body)[0]["state"], "READY");
    EXPECT_EQ(c.post("/v2/repository/models/digits/unload", "").status, 403);
}

TEST(serve_http, pages_of_other_sites_need_permission) {
    const std::string ours = "Origin: https://ours.example\r\n",
                      others = "Origin: https://ours.example.org\r\n",
                      ask = "Access-Control-Request-Method: POST\r\n";
    const auto preflight = [&](unsigned short port, const std::string &origin) {
        client c(port);
        c.send("OPTIONS " + std::string(digits_path) + " HTTP/1.1\r\nHost: x\r\n" + origin + ask + "\r\n");
        return c.receive();
    };
    EXPECT_EQ(preflight(demo().http_port(), ours).status, 405);
    EXPECT_EQ(client(demo().http_port()).get("/v2", ours).header("Access-Control-Allow-Origin"), "");

    serve::server_options o = demo_options();
    o.cors_origins = {"https://ours.example", "http://localhost:3000"};
    serve::server s(o);
    const http_answer allowed = preflight(s.http_port(), ours);
    EXPECT_EQ(allowed.status, 204);
    EXPECT_EQ(allowed.body, "");
    EXPECT_EQ(allowed.header("Access-Control-Allow-Origin"), "https://ours.example");
    EXPECT_EQ(allowed.header("Access-Control-Allow-Methods"), "GET, HEAD, POST");
    EXPECT_EQ(allowed.header("Access-Control-Allow-Headers"),
              "Authorization, Content-Type, Inference-Header-Content-Length, traceparent");
    EXPECT_EQ(preflight(s.http_port(), others).status, 405);
    EXPECT_EQ(preflight(s.http_port(), others).header("Access-Control-Allow-Origin"), "");
    client c(s.http_port());
    const http_answer wrong = c.post(digits_path, "{", ours); // a page may read what is wrong, too
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.header("Access-Control-Allow-Origin"), "https://ours.example");
    EXPECT_EQ(wrong.header("Vary"), "Origin");
    EXPECT_EQ(c.get("/v2").header("Vary"), "Origin");
    EXPECT_EQ(c.get("/v2").header("Access-Control-Allow-Origin"), "");

    o.cors_origins = {"*"};
    serve::server open(o);
    EXPECT_EQ(preflight(open.http_port(), others).header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(client(open.http_port()).get("/v2", others).header("Vary"), "");
}

TEST(serve_http, answers_with_the_networks_bytes) {
    digits_oracle oracle;
    std::minstd_rand random(1);
    client c(demo().http_port());
    for (const std::size_t rows : {1u, 3u, 32u}) {
        const std::string codes = random_codes(random, rows), expected = oracle(codes);
        const json answer = json::parse(c.post(digits_path, json_request(codes, ",\"id\":\"a \\\"b\"")).body);
        EXPECT_EQ(answer["id"], "a \"b");
        EXPECT_EQ(answer["outputs"][0]["shape"], json({rows, 10}));
        std::string got;
        for (const int v : answer["outputs"][0]["data"])
            got += static_cast<char>(v);
        EXPECT_EQ(got, expected);
        std::string head;
        const std::string body = binary_request(codes, head);
        EXPECT_EQ(binary_part(c.post(digits_path, body, head)), expected);
        EXPECT_EQ(binary_part(
                      c.post("/v2/models/digits/versions/1/infer", body, head + "Expect: 100-continue\r\n")),
                  expected);
    }
}

TEST(serve_http, nested_data_and_what_it_does_not_know) {
    digits_oracle oracle;
    const std::string codes(64, '\5');
    json body = json::parse(json_request(codes));
    json image = json::array();
    for (int y = 0; y < 8; y++) {
        image.push_back(json::array());
        for (int x = 0; x < 8; x++)
            image.back().push_back({5});
    }
    body["inputs"][0]["data"] = {image};
    body["outputs"] = {
        {{"name", "probabilities"}, {"parameters", {{"binary_data", true}}}, {"more", {1, {2}}}}};
    body["parameters"] = {{"timeout", 60'000'000}, {"priority", 1}};
    body["unknown"] = {{"inputs", {nullptr, true}}};
    client c(demo().http_port());
    const http_answer answer = c.post(
        digits_path, body.dump(), "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
    EXPECT_EQ(binary_part(answer), oracle(codes));
    EXPECT_EQ(answer.header("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

TEST(serve_http, refuses_with_a_sentence) {
    const std::string good = json_request(std::string(64, '\0'));
    expect_refusal("", "JSON ends too early, after 0 bytes: a value, a quote or a bracket is missing");
    expect_refusal("{", "JSON ends too early, after 1 bytes");
    expect_refusal(R"({"inputs" [)",
                   R"(JSON, byte 11: the last character of '{"inputs" [' cannot stand there)");
    expect_refusal(with_tensor(R"("name":"image","shape":[1e999])"), "the number is beyond all limits");
    expect_refusal("[]", "object");
    expect_refusal("7", "JSON");
    expect_refusal(std::string(100'000, '['), "object");
    expect_refusal("{\"a\":" + std::string(100'000, '['), "nested deeper");
    expect_refusal(good + " x", "JSON");
    expect_refusal("{}", "0 inputs");
    expect_refusal(json_request(std::string(64, '\0'), ",\"outputs\":[{\"name\":\"none\"}]"),
                   "no output 'none'");
    expect_refusal(json_request(std::string(64, '\0'),
                                ",\"outputs\":[{\"name\":\"probabilities\"},{\"name\":\"probabilities\"}]"),
                   "twice");
    expect_refusal(json_request(std::string(64, '\0'), ",\"parameters\":{\"timeout\":-1}"), "timeout");
    expect_refusal(json_request(std::string(64, '\0'), ",\"parameters\":{\"profile\":true}"),
                   "--allow-profiling", 403);
    for (const char *more : {R"({"sequence":3})", R"({"binary_data_outputs":true})"})
        expect_refusal(json_request(std::string(64, '\0'), std::string(",\"parameters\":") + more),
                       "is not supported");
    for (const char *more :
         {R"({"sequence_id":3})", R"({"sequence_start":true})", R"({"sequence_end":true})"})
        expect_refusal(json_request(std::string(64, '\0'), std::string(",\"parameters\":") + more),
                       "the model has no past");
    for (const char *more : {R"({"timeout":true})", R"({"timeout":"1"})", R"({"binary_data_output":1})",
                             R"({"priority":null})", R"({"timeout":[1]})"})
        expect_refusal(json_request(std::string(64, '\0'), std::string(",\"parameters\":") + more),
                       "is expected");
    expect_refusal(json_request(std::string(64, '\0'), R"(,"parameters":{"priority":4})"), "allowed are 1");
    expect_refusal(json_request(std::string(64, '\0'), R"(,"id":"a","id":"b")"), "twice");
    expect_refusal(with_tensor(R"("name":"image","name":"image")"), "twice");
    expect_refusal(json_request(std::string(64, '\0'),
                                R"(,"outputs":[{"name":"probabilities","parameters":{"classification":0}}])"),
                   "allowed are numbers from 1");
    expect_refusal(with_tensor(R"("name":"other","shape":[1,8,8,1],"datatype":"INT8","data":[])"),
                   "no input 'other'");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT64","data":[])"),
                   "datatype 'INT64', allowed: INT8, FP16, BF16, FP32");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT8","data":[1,2])"),
                   "2 numbers");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8],"datatype":"INT8","data":[1,2,3,4,5,6,7,8])"),
                   "shape 1x8");
    expect_refusal(with_tensor(R"("name":"image","shape":[-1,8,8,1],"datatype":"INT8","data":[])"),
                   "beyond all limits");
    expect_refusal(with_tensor(R"("name":"image","shape":[0,8,8,1],"datatype":"INT8","data":[])"),
                   "shape 0x8x8x1");
    expect_refusal(
        with_tensor(R"("name":"image","shape":[9999999999,9999999999],"datatype":"INT8","data":[])"),
        "beyond all limits");
    expect_refusal(with_tensor(R"("name":"image","shape":[1e3],"datatype":"INT8","data":[])"), "shape");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT8","data":[NaN])"), "JSON");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT8","data":[1e999])"),
                   "JSON");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT8","data":["a"])"), "data");
    expect_refusal(with_tensor(R"("name":"image","shape":[1,8,8,1],"datatype":"INT8","data":[{}])"),
                   "object");
    expect_refusal(with_tensor(R"("name":7)"), "name");
    expect_refusal(json_request(std::string(64, '\0'), ",\"parameters\":{\"timeout\":1}"),
                   "its time was over", 504);
    std::string too_large = good;
    too_large.replace(too_large.find("[0,"), 2, "[300");
    expect_refusal(too_large, "element 0 is 300");
    too_large.replace(too_large.find("[300"), 4, "[0.5");
    expect_refusal(too_large, "element 0 is 0.5");
    std::string head;
    const std::string binary = binary_request(std::string(64, '\0'), head);
    expect_refusal(binary, "0 bytes are left"); // without the header all of it is JSON
    expect_refusal(binary + "x", "1 bytes follow", 400, head);
    expect_refusal(binary.substr(0, binary.size() - 1), "63 bytes are left", 400, head);
    expect_refusal(binary, "no number", 400, "Inference-Header-Content-Length: -5\r\n");
    expect_refusal(binary, "the body has", 400, "Inference-Header-Content-Length: 99999\r\n");
    ask(good, 200);
}

TEST(serve_http, classes_instead_of_an_output) {
    digits_oracle oracle;
    std::minstd_rand random(3);
    const std::string codes = random_codes(random, 2), expected = oracle(codes);
    const auto with = [&](const char *parameters) {
        return json_request(codes, std::string(",\"outputs\":[{\"name\":\"probabilities\",\"parameters\":") +
                                       parameters + "}]");
    };
    const json output = json::parse(ask(with(R"({"classification":3})"), 200))["outputs"][0];
    EXPECT_EQ(output["datatype"], "BYTES");
    EXPECT_EQ(output["shape"], json({2, 3}));
    for (std::size_t row = 0; row < 2; row++) {
        int last = 128;
        for (std::size_t k = 0; k < 3; k++) {
            const std::string text = output["data"][3 * row + k];
            const std::size_t colon = text.find(':');
            const int value = std::stoi(text), index = std::stoi(text.substr(colon + 1));
            EXPECT_EQ(value, static_cast<signed char>(expected[10 * row + static_cast<std::size_t>(index)]));
            EXPECT_LE(value, last);
            last = value;
        }
        const auto greater = [&](char code) { return static_cast<signed char>(code) > last; };
        const auto *begin = expected.data() + 10 * row;
        EXPECT_LT(std::count_if(begin, begin + 10, greater), 3) << "the third is among the largest three";
    }
    client c(demo().http_port());
    const std::string binary =
        binary_part(c.post(digits_path, with(R"({"classification":1,"binary_data":true})")));
    EXPECT_EQ(binary.substr(4, static_cast<std::size_t>(static_cast<unsigned char>(binary[0]))),
              output["data"][0].get<std::string>());
}

/// Floats become codes and codes floats by the network's own arithmetic.
TEST(serve_http, floats_instead_of_codes) {
    digits_oracle oracle;
    std::minstd_rand random(4);
    std::uniform_real_distribution<float> uniform(-0.2F, 1.2F);
    std::vector<float> reals(128);
    for (float &v : reals)
        v = uniform(random);
    const std::string bytes = serve::demo_model().bytes;
    network net(bytes.data(), bytes.size(), "digits");
    std::string codes, expected;
    for (int row = 0; row < 2; row++) {
        net.input().copy_from(reals.data() + 64 * row, 64);
        codes.append(static_cast<const char *>(net.input().data()), 64);
        net.run();
        const std::vector<float> answer = net.output().as<float>();
        expected.append(reinterpret_cast<const char *>(answer.data()), 4 * answer.size());
    }
    const auto request = [&](const std::string &datatype, const std::string &out, std::size_t size) {
        return R"({"inputs":[{"name":"image","shape":[2,8,8,1],"datatype":")" + datatype +
               R"(","parameters":{"binary_data_size":)" + std::to_string(size) +
               R"(}}],"outputs":[{"name":"probabilities","parameters":{"binary_data":true,"datatype":")" +
               out + R"("}}]})";
    };
    const auto answer_to = [&](const std::string &json, const std::string &tensor) {
        client c(demo().http_port());
        const http_answer answer =
            c.post(digits_path, json + tensor,
                   "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n");
        EXPECT_EQ(answer.status, 200) << answer.body;
        return binary_part(answer);
    };
    const std::string tensor(reinterpret_cast<const char *>(reals.data()), 4 * reals.size());
    EXPECT_EQ(answer_to(request("FP32", "INT8", 512), tensor), oracle(codes));
    EXPECT_EQ(answer_to(request("FP32", "FP32", 512), tensor), expected);
    EXPECT_EQ(answer_to(request("INT8", "FP32", 128), codes), expected);
    EXPECT_EQ(answer_to(request("INT8", "FP16", 128), codes).size(), 40u);
    std::string text;
    for (const float v : reals)
        text += (text.empty() ? "" : ",") + json(v).dump();
    const auto output_in = [&](const std::string &datatype, const std::string &outputs) {
        return json::parse(ask(R"({"inputs":[{"name":"image","shape":[2,8,8,1],"datatype":")" + datatype +
                                   R"(","data":[)" + text + "]}]" + outputs + '}',
                               200))["outputs"][0];
    };
    for (const char *outputs : {R"(,"outputs":[{"name":"probabilities","parameters":{"datatype":"FP32"}}])",
                                R"(,"outputs":[{"name":"probabilities"}])", ""}) { // floats answer floats
        const json answer = output_in("FP32", outputs);
        EXPECT_EQ(answer["datatype"], "FP32");
        for (std::size_t i = 0; i < 20; i++) {
            float v;
            std::memcpy(&v, expected.data() + 4 * i, 4);
            EXPECT_EQ(answer["data"][i].get<float>(), v);
        }
    }
    EXPECT_EQ(output_in("FP16", "")["datatype"], "FP16");
    const json own =
        output_in("FP32", R"(,"outputs":[{"name":"probabilities","parameters":{"datatype":"INT8"}}])");
    EXPECT_EQ(own["datatype"], "INT8");
    for (std::size_t i = 0; i < 20; i++)
        EXPECT_EQ(own["data"][i].get<int>(), static_cast<std::int8_t>(oracle(codes)[i]));
    EXPECT_EQ(json::parse(ask(json_request(codes), 200))["outputs"][0]["datatype"], "INT8");
    expect_refusal(
        json_request(codes, R"(,"outputs":[{"name":"probabilities","parameters":{"datatype":"INT32"}}])"),
        "allowed: INT8, FP16, BF16, FP32");
    expect_refusal(
        json_request(codes, R"(,"outputs":[{"name":"probabilities","parameters":{"datatype":7}}])"),
        "is expected");
    std::string nan = tensor;
    nan.replace(8, 4, "\0\0\xc0\x7f", 4);
    const std::string head = request("FP32", "INT8", 512);
    expect_refusal(head + nan, "element 2 is nan", 400,
                   "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n");
}

TEST(serve_http, configuration_and_statistics) {
    serve::server s(demo_options());
    client c(s.http_port());
    const json config = json::parse(c.get("/v2/models/digits/config").body);
    EXPECT_EQ(config["max_batch_size"], 32);
    EXPECT_EQ(config["input"], json::parse(R"([{"name":"image","data_type":"TYPE_INT8","dims":[8,8,1]}])"));
    EXPECT_EQ(c.get("/v2/models/none/config").status, 404);
    EXPECT_EQ(c.post(digits_path, json_request(std::string(128, '\1'))).status, 200);
    EXPECT_EQ(c.post(digits_path, json_request(std::string(64, '\1'))).status, 200);
    for (const char *path :
         {"/v2/models/digits/stats", "/v2/models/stats", "/v2/models/digits/versions/1/stats"}) {
        const json stats = json::parse(c.get(path).body)["model_stats"][0];
        EXPECT_EQ(stats["name"], "digits");
        EXPECT_EQ(stats["inference_count"], 3);
        EXPECT_EQ(stats["execution_count"], 2);
        EXPECT_EQ(stats["inference_stats"]["success"]["count"], 2);
        EXPECT_EQ(stats["inference_stats"]["fail"]["count"], 0);
        EXPECT_GT(stats["inference_stats"]["compute_infer"]["ns"], 0);
        EXPECT_EQ(stats["batch_stats"].size(), 2u);
        EXPECT_GT(stats["last_inference"], 1'700'000'000'000);
    }
}

TEST(serve_http, the_page_and_figures_beside_it) {
    client c(demo().http_port());
    const http_answer page = c.get("/");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_NE(page.body.find("<title>octet serve</title>"), std::string::npos);
    const std::string text = c.get("/metrics").body;
    for (const char *name : {"octet_utilisation_ratio{", "octet_queue_age_seconds{", "octet_running_batches{",
                             "process_resident_memory_bytes ", "process_cpu_seconds_total ",
                             "process_open_fds ", "octet_access_log_lost_lines_total "})
        EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST(serve_http, profile_and_metrics) {
    serve::server_options o = demo_options();
    o.may_profile = true;
    o.access_log = testing::TempDir() + "octet_serve_access.log";
    std::filesystem::remove(o.access_log);
    {
        serve::server s(o);
        client c(s.http_port()), m(s.metrics_port());
        const std::string body =
            json_request(std::string(64, '\0'), ",\"parameters\":{\"profile\":true},\"id\":\"x1\"");
        const char *const trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
        const json answer = json::parse(c.post(digits_path, body, trace).body);
        const json profile = json::parse(answer["parameters"]["profile"].get<std::string>());
        EXPECT_EQ(profile.size(), 11u);
        EXPECT_EQ(profile[0]["op"].get<std::string>().substr(0, 7), "CONV_2D");
        c.post(digits_path, "{}");
        const std::string text = m.get("/metrics").body;
        EXPECT_NE(text.find("octet_requests_total{model=\"digits\",result=\"ok\",version=\"1\"} 1\n"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("octet_requests_total{model=\"digits\",result=\"invalid\",version=\"1\"} 1\n"),
                  std::string::npos);
        EXPECT_NE(text.find("octet_primitive_cache{what=\"kernels\"} "), std::string::npos);
        EXPECT_EQ(text.find("octet_primitive_cache{what=\"bytes\"} 0\n"), std::string::npos);
        EXPECT_EQ(m.get("/v2").status, 404);
    }
    std::ifstream log(o.access_log);
    std::string line;
    ASSERT_TRUE(std::getline(log, line));
    const json row = json::parse(line);
    EXPECT_EQ(row["id"], "x1");
    EXPECT_EQ(row["result"], "ok");
    EXPECT_EQ(row["bytes_in"], 64);
    EXPECT_EQ(row["client"], "127.0.0.1");
    EXPECT_EQ(row["status"], 200);
    EXPECT_EQ(row["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(row["span_id"], "b7ad6b7169203331");
    ASSERT_TRUE(std::getline(log, line));
    EXPECT_EQ(json::parse(line)["status"], 400);
}

} // namespace octet::tests
