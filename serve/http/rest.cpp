// Paths to handlers, and outcomes to status codes.

#include "http/rest.hpp"

#include <charconv>

#include "core/datatypes.hpp"
#include "core/small_json.hpp"
#include "http/infer_json.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using json = nlohmann::ordered_json;

int status_of(outcome o) {
    switch (o) {
    case outcome::ok:
        return 200;
    case outcome::invalid:
        return 400;
    case outcome::unauthorized:
        return 401;
    case outcome::forbidden:
        return 403;
    case outcome::not_found:
        return 404;
    case outcome::too_large:
        return 413;
    case outcome::overloaded:
    case outcome::unavailable:
        return 503;
    case outcome::expired:
        return 504;
    case outcome::cancelled:
        return 499;
    case outcome::failed:
        break;
    }
    return 500;
}

std::string dump(const json &j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

http_reply json_reply(const json &j) {
    http_reply r;
    r.text = dump(j);
    return r;
}

http_reply ready_reply(bool is_ready, const json &j) {
    http_reply r = json_reply(j);
    r.status = is_ready ? 200 : 503;
    return r;
}

/// The parts of a path, decoded. Throws refusal.
std::vector<std::string> parts_of(std::string_view target) {
    std::vector<std::string> parts(1);
    if (target.substr(0, 7) == "http://" || target.substr(0, 8) == "https://") // as proxies are asked
        target.remove_prefix(std::min(target.find('/', 8), target.size()));
    target = target.substr(0, target.find('?'));
    if (target.empty() || target[0] != '/')
        throw refusal(outcome::invalid, "the path does not begin with '/'");
    target.remove_prefix(1);
    for (std::size_t i = 0; i < target.size(); i++) {
        if (target[i] == '/') {
            parts.emplace_back();
        } else if (target[i] == '%') {
            unsigned code = 0;
            const char *digits = target.data() + i + 1;
            if (i + 2 >= target.size() || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2 ||
                code == 0)
                throw refusal(outcome::invalid, "the path has a '%' without two hexadecimal digits");
            parts.back() += static_cast<char>(code);
            i += 2;
        } else {
            parts.back() += target[i];
        }
    }
    return parts;
}

json tensors_json(const std::vector<tensor_info> &tensors) {
    json list = json::array();
    for (const tensor_info &t : tensors)
        list.push_back({{"name", t.name}, {"datatype", protocol_name(t.type)}, {"shape", t.shown()}});
    return list;
}

http_reply infer_reply(const service::call &c, const reply_form &form) {
    if (c.work->result != outcome::ok)
        return error_reply(c.work->result, c.work->sentence);
    http_reply answer;
    bool has_binary = false;
    try {
        answer.text = infer_reply_json(c, form, has_binary);
    } catch (const refusal &e) {
        return error_reply(e.why, e.what());
    }
    if (!has_binary)
        return answer;
    answer.type = "application/octet-stream";
    answer.headers.emplace_back("Inference-Header-Content-Length", std::to_string(answer.text.size()));
    for (std::size_t i = 0; i < c.work->wanted.size(); i++)
        if (form.is_binary(c.model->outputs()[c.work->wanted[i]].name))
            answer.parts.push_back(c.work->outputs[i]);
    answer.keep = c.work;
    return answer;
}

bool is_inference(const std::vector<std::string> &path) {
    return path.size() >= 4 && path[0] == "v2" && path[1] == "models" && path.back() == "infer";
}

/// A path that there is, asked by a method that it has not.
struct wrong_method : refusal {
    wrong_method(const http_request &request, const char *allows)
        : refusal(outcome::not_found,
                  std::string(request.method.substr(0, 20)) + " is not allowed here, allowed is " + allows),
          allowed(allows) {}
    const char *allowed;
};

[[noreturn]] void no_such_path(const http_request &request) {
    throw refusal(outcome::not_found, "there is no " + std::string(request.method.substr(0, 20)) + " " +
                                          std::string(request.target.substr(0, 100)));
}

} // namespace

http_reply error_reply(outcome o, const std::string &sentence, int retry_after) {
    http_reply r = json_reply({{"error", sentence}});
    r.status = status_of(o);
    if (o == outcome::unauthorized)
        r.headers.emplace_back("WWW-Authenticate", "Bearer");
    if (r.status == 503)
        r.headers.emplace_back("Retry-After", std::to_string(retry_after));
    return r;
}

http_reply rest::refuse(outcome o, const std::string &sentence) const {
    service_.refused("http", "", refusal(o, sentence));
    return error_reply(o, sentence);
}

void rest::require_token(const http_request &request, const std::vector<std::string> &path) const {
    const bool is_health = path.size() == 3 && path[0] == "v2" && path[1] == "health";
    if (!is_health && !token_.allows(request.authorization))
        throw refusal(outcome::unauthorized, "a bearer token is required");
}

std::size_t rest::most_body_bytes(const http_request &head) const {
    const std::vector<std::string> path = parts_of(head.target);
    require_token(head, path);
    return is_inference(path) ? service_.options.most_body_bytes : most_control_bytes;
}

http_reply rest::answer(const http_request &request, const std::vector<std::string> &path) const {
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    const std::size_t n = path.size();
    if (path[0] != "v2")
        no_such_path(request);
    if (n >= 2 && path[1] == "repository") {
        if (request.method != "POST")
            throw wrong_method(request, "POST");
        return repository(request, path);
    }
    if (!is_get)
        throw wrong_method(request, "GET");
    if (n == 1 || (n == 2 && path[1].empty()))
        return json_reply({{"name", "octet"},
                           {"version", version()},
                           {"extensions", {"binary_tensor_data", "model_repository"}},
                           {"isa", to_string(get_effective_cpu_isa())}});
    if (n == 3 && path[1] == "health" && path[2] == "live")
        return json_reply({{"live", true}});
    if (n == 3 && path[1] == "health" && path[2] == "ready")
        return ready_reply(service_.is_ready(), {{"ready", service_.is_ready()}});
    if (path[1] != "models" || n < 3)
        no_such_path(request);
    const bool has_version = n >= 5 && path[3] == "versions";
    const std::string version = has_version ? path[4] : "";
    const std::size_t end = has_version ? 5 : 3;
    if (n == end) {
        const auto m = service_.models.find(path[2], version);
        return json_reply({{"name", m->name()},
                           {"versions", service_.models.versions(m->name())},
                           {"platform", m->platform()},
                           {"inputs", tensors_json(m->inputs())},
                           {"outputs", tensors_json(m->outputs())}});
    }
    if (n == end + 1 && path[end] == "ready") {
        bool is_ready = true;
        try {
            service_.models.find(path[2], version);
        } catch (const refusal &r) {
            if (r.why == outcome::not_found)
                throw;
            is_ready = false;
        }
        return ready_reply(is_ready, {{"name", path[2]}, {"ready", is_ready}});
    }
    no_such_path(request);
}

http_reply rest::repository(const http_request &request, const std::vector<std::string> &path) const {
    if (path.size() == 3 && path[2] == "index") {
        bool only_ready = false;
        if (!request.body.empty()) {
            try {
                const nlohmann::json body = read_small_json(request.body);
                only_ready = body.is_object() && body.contains("ready") && body["ready"] == true;
            } catch (const error &e) {
                throw refusal(outcome::invalid, e.what());
            }
        }
        json list = json::array();
        for (const auto &s : service_.models.index())
            if (!only_ready || s.state == "READY")
                list.push_back(
                    {{"name", s.name}, {"version", s.version}, {"state", s.state}, {"reason", s.reason}});
        return json_reply(list);
    }
    if (path.size() != 5 || path[2] != "models" || (path[4] != "load" && path[4] != "unload"))
        no_such_path(request);
    service_.require_changes();
    if (path[4] == "load")
        service_.models.load(path[3]);
    else
        service_.models.unload(path[3]);
    return {};
}

std::shared_ptr<const service::call> rest::infer(const http_request &request, std::string model,
                                                 std::string version, const run_later &later,
                                                 reply done) const {
    std::size_t json_size = request.body.size();
    if (!request.json_size.empty()) {
        const char *end = request.json_size.data() + request.json_size.size();
        const auto [stop, failure] = std::from_chars(request.json_size.data(), end, json_size);
        if (stop != end || failure != std::errc())
            throw refusal(outcome::invalid, "Inference-Header-Content-Length is no number");
    }
    const auto form = std::make_shared<reply_form>();
    infer_request r = read_infer_request(request.body, json_size, *form, request.held);
    r.keep = request.keep;
    r.held = request.held;
    r.model = std::move(model);
    r.version = std::move(version);
    r.trace = request.trace;
    return service_.infer(std::move(r), "http",
                          [form, later, done](const std::shared_ptr<const service::call> &c) {
                              later([form, done, c] { done(infer_reply(*c, *form)); });
                          });
}

std::shared_ptr<const service::call> rest::handle(const http_request &request, const run_later &later,
                                                  reply done) const {
    std::vector<std::string> path;
    std::string what = "invalid", model;
    try {
        path = parts_of(request.target);
        what = std::string(request.target.substr(0, 100));
        require_token(request, path);
        if (is_inference(path)) {
            const bool has_version = path.size() == 6 && path[3] == "versions";
            if (path.size() != 4 && !has_version)
                no_such_path(request);
            if (request.method != "POST")
                throw wrong_method(request, "POST");
            model = path[2];
            return infer(request, path[2], has_version ? path[4] : "", later, done);
        }
        done(answer(request, path));
    } catch (const wrong_method &r) {
        service_.refused("http", what, r, model, std::string(request.trace));
        http_reply answer = error_reply(r.why, r.what());
        answer.status = 405;
        answer.headers.emplace_back("Allow", r.allowed);
        done(std::move(answer));
    } catch (const refusal &r) {
        service_.refused("http", what, r, model, std::string(request.trace));
        done(error_reply(r.why, r.what(), service_.retry_after(model)));
    } catch (const std::bad_alloc &) {
        const refusal r(outcome::overloaded, "there is no memory for this request");
        service_.refused("http", what, r, model, std::string(request.trace));
        done(error_reply(r.why, r.what()));
    } catch (const std::exception &e) {
        service_.refused("http", what, refusal(outcome::failed, e.what()), model, std::string(request.trace));
        done(error_reply(outcome::failed, e.what()));
    }
    return nullptr;
}

} // namespace octet::serve
