// Finds model, inputs and sizes of a request by their names, queues a job, and counts and logs what became of it.
// SPDX-License-Identifier: Apache-2.0
#include "core/service.hpp"

#include <algorithm>

#include "core/datatypes.hpp"
#include "core/outputs.hpp"

namespace octet::serve {
namespace {

[[noreturn]] void refuse(const std::string &sentence) { throw refusal(outcome::invalid, sentence); }

/// Breaks the ring in a call that no scheduler has: the job's function holds the call, which holds the job.
void let_go(const service::call &c) {
    if (c.work)
        c.work->when_done = nullptr;
}

/// Buffers of a request, and what it lay in before.
struct owned_inputs {
    std::shared_ptr<const void> before;
    std::vector<std::vector<std::byte>> buffers;
};

std::size_t elements(const given_tensor &given, std::size_t most) {
    std::size_t count = 1;
    for (const std::int64_t d : given.shape) {
        if (d < 0 || (d > 0 && count > most / static_cast<std::size_t>(d)))
            refuse("input '" + shown(given.name) + "' has shape " + shown(model::to_text(given.shape)) +
                   ", which is beyond all limits");
        count *= static_cast<std::size_t>(d);
    }
    return count;
}

std::string names_of(const std::vector<tensor_info> &tensors) {
    std::string names;
    for (const tensor_info &t : tensors)
        names += (names.empty() ? "'" : ", '") + t.name + "'";
    return names;
}

std::size_t index_of(const std::vector<tensor_info> &tensors, const std::string &name, const char *what) {
    for (std::size_t i = 0; i < tensors.size(); i++)
        if (tensors[i].name == name)
            return i;
    refuse(std::string("there is no ") + what + " '" + shown(name) + "', allowed: " + names_of(tensors));
}

/// Codes of a scale are told as floats to whoever sends floats, as octet.Network does in Python.
const datatype *usual_datatype(const tensor_info &t, const datatype *floats) {
    const bool has_codes = t.stands_for_reals() && t.announced->kind == t.own->kind;
    return floats && has_codes ? floats : t.announced;
}

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

} // namespace

void check_parameter(const std::string &name, const std::vector<std::string> &allowed) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end())
        return;
    std::string names;
    for (const std::string &one : allowed)
        names += (names.empty() ? "'" : ", '") + one + "'";
    refuse("parameter '" + shown(name) + "' is not supported, allowed: " + names);
}

byte_range service::input_of(const tensor_info &t, const given_tensor &given, const infer_request &request,
                             std::vector<std::vector<std::byte>> &buffers) const {
    const datatype *type = find_datatype(given.datatype);
    if (!type || !t.can_be(*type))
        refuse("input '" + shown(given.name) + "' has datatype '" + shown(given.datatype) +
               "', allowed: " + t.choices());
    const std::size_t count = elements(given, options.most_body_bytes);
    if (given.bytes ? given.bytes->size != count * type->size : given.numbers.size() != count)
        refuse("input '" + shown(given.name) + "' has " +
               (given.bytes ? std::to_string(given.bytes->size) + " bytes"
                            : std::to_string(given.numbers.size()) + " numbers") +
               ", its shape " + shown(model::to_text(given.shape)) + " needs " +
               std::to_string(given.bytes ? count * type->size : count));
    const bool is_other = type->kind != t.own->kind;
    if (given.bytes && !is_other)
        return *given.bytes;
    if (request.held && !request.held->grow(count * (t.own->size + (given.bytes ? 0 : type->size))))
        throw refusal(outcome::overloaded, "requests fill the memory for them");
    byte_range bytes = given.bytes.value_or(byte_range());
    const auto keep = [&](std::vector<std::byte> &&made) {
        buffers.push_back(std::move(made));
        bytes = {buffers.back().data(), buffers.back().size()};
    };
    if (!given.bytes)
        keep(to_elements(given.name, *type, given.numbers));
    if (is_other)
        keep(to_network(t, *type, bytes));
    return bytes;
}

wanted_output service::output_of(const served_model &m, const asked_output &asked, const datatype *floats) {
    const std::size_t index = index_of(m.outputs(), asked.name, "output");
    const tensor_info &t = m.outputs()[index];
    const datatype *type = asked.datatype.empty() ? usual_datatype(t, floats) : find_datatype(asked.datatype);
    if (!type || !t.can_be(*type))
        refuse("parameter 'datatype' of output '" + shown(asked.name) + "' is '" + shown(asked.datatype) +
               "', allowed: " + t.choices());
    if (asked.classes && *asked.classes < 1)
        refuse("parameter 'classification' of output '" + shown(asked.name) + "' is " +
               std::to_string(*asked.classes) + ", allowed are numbers from 1");
    return {index, type, asked.classes.value_or(0)};
}

std::shared_ptr<job> service::make_job(const served_model &m, const infer_request &request) const {
    const auto j = std::make_shared<job>();
    const std::size_t count = m.inputs().size();
    if (request.inputs.size() != count)
        refuse(std::to_string(request.inputs.size()) + " inputs given, the model has " +
               std::to_string(count) + ": " + names_of(m.inputs()));
    std::vector<const given_tensor *> given(count);
    std::vector<memory::dims> shapes(count);
    for (const given_tensor &one : request.inputs) {
        const std::size_t i = index_of(m.inputs(), one.name, "input");
        if (given[i])
            refuse("input '" + shown(one.name) + "' is given twice");
        given[i] = &one;
        shapes[i] = one.shape;
    }
    const auto owned = std::make_shared<owned_inputs>();
    owned->before = request.keep;
    const datatype *floats = nullptr;
    for (std::size_t i = 0; i < count; i++) {
        j->inputs.push_back(input_of(m.inputs()[i], *given[i], request, owned->buffers));
        j->bytes += j->inputs[i].size;
        const datatype *type = find_datatype(given[i]->datatype);
        if (m.inputs()[i].stands_for_reals() && is_real(*type) && !floats)
            floats = type;
    }
    j->sequence = request.sequence;
    j->wants_profile = request.wants_profile;
    m.set_shapes(*j, shapes);
    for (const asked_output &asked : request.outputs) {
        const wanted_output w = output_of(m, asked, floats);
        if (std::any_of(j->wanted.begin(), j->wanted.end(),
                        [&](const auto &o) { return o.index == w.index; }))
            refuse("output '" + shown(asked.name) + "' is asked for twice");
        j->wanted.push_back(w);
    }
    if (request.outputs.empty())
        for (std::size_t i = 0; i < m.outputs().size(); i++)
            j->wanted.push_back({i, usual_datatype(m.outputs()[i], floats), 0});
    if (request.wants_profile && !options.may_profile)
        throw refusal(outcome::forbidden,
                      "parameter 'profile': the server was started without --allow-profiling");
    if (request.priority < 0 || request.priority > lowest_priority)
        refuse("parameter 'priority' is " + std::to_string(request.priority) +
               ", allowed are 1, the first, to " + std::to_string(lowest_priority) +
               ", and 0 for the usual one");
    j->priority = request.priority > 0 ? static_cast<int>(request.priority) : usual_priority;
    if (request.timeout_us < 0)
        refuse("parameter 'timeout' is " + std::to_string(request.timeout_us) +
               ", allowed are microseconds from 0");
    j->deadline = request.deadline;
    if (request.timeout_us > 0)
        j->deadline = clock::now() +
                      std::chrono::microseconds(std::min<std::int64_t>(request.timeout_us, 86'400'000'000));
    j->keep = owned;
    if (request.held)
        j->reply_held = request.held->another();
    return j;
}

std::shared_ptr<const service::call> service::infer(infer_request &&request, const std::string &protocol,
                                                    const answer &done) {
    if (is_stopping_ || !models.is_loaded())
        throw refusal(outcome::unavailable, is_stopping_ ? "the server stops" : "the server is not ready");
    const auto c = std::make_shared<call>();
    c->id = std::move(request.id);
    c->trace = std::move(request.trace);
    c->peer = std::move(request.peer);
    c->model = models.find(request.model, request.version);
    try {
        for (int tries = 0;; tries++)
            try {
                c->work = make_job(*c->model, request);
                c->work->when_done = [this, c, protocol, done](job &j) {
                    try {
                        if (j.result == outcome::ok)
                            present(*c->model, j);
                    } catch (const refusal &e) {
                        j.result = e.why;
                        j.sentence = e.what();
                    }
                    finished(*c, protocol);
                    done(c);
                };
                scheduler_.submit(c->model->queue, c->work);
                break;
            } catch (const refusal &r) { // replaced by another version since it was found
                const auto next =
                    r.why == outcome::unavailable ? models.find(request.model, request.version) : nullptr;
                if (!next || next == c->model || tries == 3)
                    throw;
                let_go(*c);
                c->model = next;
            }
    } catch (refusal &r) {
        c->model->metrics()->count(r.why);
        r.is_counted = true;
        let_go(*c);
        throw;
    } catch (...) { // no memory
        let_go(*c);
        throw;
    }
    return c;
}

/// Its sequence, too: nobody will ask for more of it.
void service::cancel(const call &c) {
    withdraw(c, outcome::cancelled, "the client has left");
    if (c.work && c.model)
        c.model->cancel_sequence(*c.work);
}

void service::finished(const call &c, const std::string &protocol) const {
    const job &j = *c.work;
    c.model->metrics()->finished(j);
    if (!options.log)
        return;
    access a;
    for (const byte_range &b : j.outputs)
        a.bytes_out += b.size;
    a.protocol = protocol;
    a.what = "infer";
    a.model = c.model->name();
    a.version = c.model->version();
    a.id = c.id;
    a.trace = c.trace;
    a.peer = c.peer;
    a.result = j.result;
    a.status = protocol == "grpc" ? facts_of(j.result).grpc : facts_of(j.result).http;
    a.seconds = seconds(j.finished - j.queued);
    if (j.batch > 0) {
        a.queue_seconds = seconds(j.started - j.queued);
        a.compute_seconds = seconds(j.finished - j.started);
    }
    a.batch = j.batch;
    a.bytes_in = j.bytes;
    options.log(a);
}

void service::refused(access line, const refusal &r) {
    if (!r.is_counted)
        figures.count_other(r.why);
    if (!options.log)
        return;
    line.result = r.why;
    line.status = line.protocol == "grpc" ? facts_of(r.why).grpc : r.http_status;
    options.log(line);
}

bool is_traceparent(std::string_view text) {
    constexpr std::string_view form = "00-00000000000000000000000000000000-0000000000000000-00";
    return text.size() == form.size() &&
           std::equal(text.begin(), text.end(), form.begin(), [](char c, char f) {
               return f == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool service::is_ready(const std::string &model, const std::string &version) const {
    try {
        models.find(model, version);
        return true;
    } catch (const refusal &r) {
        if (r.why == outcome::not_found)
            throw;
        return false;
    }
}

void service::require_changes() const {
    if (!options.may_change_models)
        throw refusal(
            outcome::forbidden,
            "loading and unloading is off: the server was started without --allow-repository-changes");
}

int service::retry_after(const std::string &model) const {
    try {
        return scheduler_.retry_after(models.find(model, "")->queue);
    } catch (const refusal &) {
        return 1;
    }
}

} // namespace octet::serve
