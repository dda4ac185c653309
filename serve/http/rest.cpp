// Paths to handlers, and outcomes to status codes.
// SPDX-License-Identifier: Apache-2.0
#include "http/rest.hpp"

#include <algorithm>
#include <charconv>

#include "core/description.hpp"
#include "core/small_json.hpp"
#include "http/infer_json.hpp"
#include "http/page.hpp"
#include "octet/settings.hpp"

namespace octet::serve {
namespace {

using json = nlohmann::ordered_json;

/// Bytes of JSON that the thread of a connection reads itself.
constexpr std::size_t most_read_at_once = std::size_t(64) << 10;
constexpr std::size_t most_shown_of_target = 100;

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

/// Returns a bound of the JSON text of the outputs that are no binary data.
std::size_t bytes_as_text(const service::call &c, const reply_form &form) {
    // "-0.00012207," of FP16 has 12 characters for 2 bytes; wider numbers have fewer digits for each of their bytes.
    constexpr std::size_t of_a_byte = 7;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < c.work->outputs.size(); i++)
        if (!form.is_binary(c.model->outputs()[c.work->wanted[i].index].name))
            bytes += of_a_byte * c.work->outputs[i].size;
    return bytes;
}

http_reply infer_reply(const service::call &c, const reply_form &form) {
    if (c.work->result != outcome::ok)
        return error_reply(refusal(c.work->result, c.work->sentence));
    if (c.work->reply_held && !c.work->reply_held->grow(bytes_as_text(c, form)))
        return error_reply(refusal(outcome::overloaded, "replies fill the memory for requests"));
    http_reply answer;
    answer.keep = c.work; // the call counts the memory of the reply
    bool has_binary = false;
    try {
        answer.text = infer_reply_json(c, form, has_binary);
    } catch (const refusal &e) {
        return error_reply(e);
    } catch (const std::bad_alloc &) {
        return error_reply(refusal(outcome::overloaded, "there is no memory for the reply"));
    }
    if (!has_binary)
        return answer;
    answer.type = "application/octet-stream";
    answer.headers.emplace_back("Inference-Header-Content-Length", std::to_string(answer.text.size()));
    for (std::size_t i = 0; i < c.work->wanted.size(); i++)
        if (form.is_binary(c.model->outputs()[c.work->wanted[i].index].name))
            answer.parts.push_back(c.work->outputs[i]);
    return answer;
}

bool is_inference(const std::vector<std::string> &path) {
    return path.size() >= 4 && path[0] == "v2" && path[1] == "models" && path.back() == "infer";
}

bool is_change(const std::vector<std::string> &path) {
    return path.size() == 5 && path[0] == "v2" && path[1] == "repository" && path[2] == "models" &&
           (path[4] == "load" || path[4] == "unload");
}

refusal wrong_method(const http_request &request, const char *allowed) {
    return {outcome::not_found,
            std::string(request.method.substr(0, 20)) + " is not allowed here, allowed is " + allowed, 405,
            allowed};
}

access line_of(const http_request &request) {
    access a;
    a.protocol = "http";
    a.what = request.target.substr(0, most_shown_of_target);
    a.trace = request.trace;
    a.peer = request.peer;
    return a;
}

/// The part of a request that the log needs, since its connection may be gone by then.
struct kept_head {
    explicit kept_head(const http_request &r)
        : target(r.target.substr(0, most_shown_of_target)), trace(r.trace), peer(r.peer) {}
    http_request request() const {
        http_request r;
        r.target = target;
        r.trace = trace;
        r.peer = peer;
        return r;
    }
    std::string target, trace, peer;
};

/// The names of models of which a version is served, each once, in the order of the index.
template <typename Index> json served_names(const Index &index) {
    json names = json::array();
    for (const auto &s : index)
        if (s.state == "READY" && std::find(names.begin(), names.end(), s.name) == names.end())
            names.push_back(s.name);
    return names;
}

[[noreturn]] void no_such_path(const http_request &request) {
    throw refusal(outcome::not_found, "there is no " + std::string(request.method.substr(0, 20)) + " " +
                                          std::string(request.target.substr(0, 100)));
}

} // namespace

http_reply metrics_reply(std::string text) {
    http_reply reply;
    reply.type = "text/plain; version=0.0.4; charset=utf-8";
    reply.text = std::move(text);
    return reply;
}

http_reply error_reply(const refusal &r, int retry_after) {
    http_reply reply = json_reply({{"error", r.what()}});
    reply.status = r.http_status;
    if (r.why == outcome::unauthorized)
        reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    if (r.allowed)
        reply.headers.emplace_back("Allow", r.allowed);
    if (r.http_status == 503)
        reply.headers.emplace_back("Retry-After", std::to_string(retry_after));
    return reply;
}

http_reply rest::refuse(const http_request &request, const refusal &r) const {
    service_.refused(line_of(request), r);
    return error_reply(r);
}

void rest::require_token(const http_request &request, const std::vector<std::string> &path) const {
    const bool is_health = path.size() == 3 && path[0] == "v2" && path[1] == "health";
    const bool is_page = path.size() == 1 && path[0].empty();
    if (is_health || is_page)
        return;
    const grant g = token_.opened_by(request.authorization);
    const std::size_t at = path.size() >= 3 && path[1] == "models" ? 2 : is_change(path) ? 3 : 0;
    const bool is_of_all = path.size() == 1 && path[0] == "v2"; // every token may ask which models there are
    if (!is_of_all)
        g.require(at > 0 ? path[at] : "");
}

std::size_t rest::most_body_bytes(const http_request &head) const {
    const std::vector<std::string> path = parts_of(head.target);
    require_token(head, path);
    return is_inference(path) ? service_.options.most_body_bytes : most_control_bytes;
}

http_reply rest::answer(const http_request &request, const std::vector<std::string> &path) const {
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    const std::size_t n = path.size();
    if (n == 1 && path[0].empty()) {
        http_reply r;
        r.type = "text/html; charset=utf-8";
        r.headers.emplace_back("Content-Security-Policy",
                               "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                               "connect-src 'self'; img-src data:; frame-ancestors 'none'");
        r.text = page();
        return r;
    }
    if (n == 1 && path[0] == "metrics" && is_get)
        return metrics_reply(service_.options.figures());
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
                           {"numerics_version", numerics_version()},
                           {"extensions", extensions},
                           {"isa", to_string(get_effective_cpu_isa())}});
    if (n == 3 && path[1] == "health" && path[2] == "live")
        return json_reply({{"live", true}});
    if (n == 3 && path[1] == "health" && path[2] == "ready")
        return ready_reply(service_.is_ready(), {{"ready", service_.is_ready()}});
    if (path[1] != "models")
        no_such_path(request);
    if (n == 2 || (n == 3 && path[2].empty()))
        return json_reply({{"models", served_names(service_.models.index())}});
    return model(request, path);
}

http_reply rest::model(const http_request &request, const std::vector<std::string> &path) const {
    const std::size_t n = path.size();
    const bool has_version = n >= 5 && path[3] == "versions";
    const std::string &name = path[2], version = has_version ? path[4] : "";
    const std::size_t end = has_version ? 5 : 3;
    if (n == 3 && name == "stats")
        return json_reply(describe_statistics(service_.models.all("")));
    const std::string what = n == end + 1 ? path[end] : "";
    if (what == "ready") {
        const bool is_ready = service_.is_ready(name, version);
        return ready_reply(is_ready, {{"name", name}, {"ready", is_ready}});
    }
    if (n > end + 1 || (n == end + 1 && what != "config" && what != "stats"))
        no_such_path(request);
    const auto m = service_.models.find(name, version);
    if (what == "stats")
        return json_reply(describe_statistics(has_version ? std::vector<std::shared_ptr<served_model>>{m}
                                                          : service_.models.all(name)));
    return json_reply(what == "config" ? describe_configuration(*m)
                                       : describe(*m, service_.models.versions(m->name())));
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
    no_such_path(request);
}

std::shared_ptr<const service::call> rest::infer(const http_request &request, const std::string &model,
                                                 const std::string &version, const answering &to) const {
    std::size_t json_size = request.body.size();
    if (!request.json_size.empty()) {
        const char *end = request.json_size.data() + request.json_size.size();
        const auto [stop, failure] = std::from_chars(request.json_size.data(), end, json_size);
        if (stop != end || failure != std::errc())
            throw refusal(outcome::invalid, "Inference-Header-Content-Length is no number");
    }
    const auto begin = [this, model, version, json_size, body = request.body, keep = request.keep,
                        held = request.held, trace = std::string(request.trace),
                        peer = std::string(request.peer), to] {
        const auto form = std::make_shared<reply_form>();
        infer_request r = read_infer_request(body, json_size, *form, held);
        r.keep = keep;
        r.held = held;
        r.model = model;
        r.version = version;
        r.trace = trace;
        r.peer = peer;
        return service_.infer(
            std::move(r), "http", [this, form, to](const std::shared_ptr<const service::call> &c) {
                if (bytes_as_text(*c, *form) <= most_read_at_once)
                    return to.later([form, to, c] { to.done(infer_reply(*c, *form)); });
                const auto answer = [to](http_reply &&made) {
                    to.later([to, reply = std::make_shared<http_reply>(std::move(made))] {
                        to.done(std::move(*reply));
                    });
                };
                try {
                    service_.readers.submit([form, answer, c] { answer(infer_reply(*c, *form)); });
                } catch (const refusal &e) {
                    answer(error_reply(e));
                }
            });
    };
    if (json_size <= most_read_at_once)
        return begin();
    service_.readers.submit([this, begin, model, to, kept = kept_head(request)] {
        const http_request head = kept.request();
        answering elsewhere = to;
        elsewhere.done = [to](http_reply &&r) {
            to.later(
                [to, reply = std::make_shared<http_reply>(std::move(r))] { to.done(std::move(*reply)); });
        };
        if (auto call = guarded(head, model, elsewhere, begin))
            to.later([to, call] { to.begun(call); });
    });
    return service::call_without_work();
}

template <typename Function>
std::shared_ptr<const service::call> rest::guarded(const http_request &request, const std::string &model,
                                                   const answering &to, const Function &work) const {
    const auto refuse = [&](const refusal &r) {
        access line = line_of(request);
        line.model = model;
        service_.refused(std::move(line), r);
        to.done(error_reply(r, service_.retry_after(model)));
    };
    try {
        return work();
    } catch (const refusal &r) {
        refuse(r);
    } catch (const std::bad_alloc &) {
        refuse(refusal(outcome::overloaded, "there is no memory for this request"));
    } catch (const std::exception &e) {
        refuse(refusal(outcome::failed, e.what()));
    }
    return nullptr;
}

std::shared_ptr<const service::call> rest::handle(const http_request &request, const answering &to) const {
    std::string model;
    return guarded(request, model, to, [&]() -> std::shared_ptr<const service::call> {
        const std::vector<std::string> path = parts_of(request.target);
        require_token(request, path);
        if (is_inference(path)) {
            const bool has_version = path.size() == 6 && path[3] == "versions";
            if (path.size() != 4 && !has_version)
                no_such_path(request);
            if (request.method != "POST")
                throw wrong_method(request, "POST");
            model = path[2];
            return infer(request, model, has_version ? path[4] : "", to);
        }
        if (is_change(path) && request.method == "POST") {
            service_.require_changes();
            service_.changes.submit([this, path, to, kept = kept_head(request)] {
                const http_request head = kept.request();
                const auto reply = std::make_shared<http_reply>();
                answering elsewhere;
                elsewhere.done = [&](http_reply &&r) { *reply = std::move(r); };
                guarded(head, "", elsewhere, [&]() -> std::shared_ptr<const service::call> {
                    path[4] == "load" ? service_.models.load(path[3]) : service_.models.unload(path[3]);
                    return nullptr;
                });
                to.later([to, reply] { to.done(std::move(*reply)); });
            });
            return service::call_without_work();
        }
        to.done(answer(request, path));
        return nullptr;
    });
}

} // namespace octet::serve
