// Finds model, inputs and sizes of a request by their names, queues a job, and counts and logs what became of it.
// SPDX-License-Identifier: Apache-2.0
#include "core/service.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/classification.hpp"
#include "core/datatypes.hpp"

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

template <typename To>
void put(std::vector<std::byte> &to, const std::string &name, const double *numbers, std::size_t count) {
    to.resize(count * sizeof(To));
    for (std::size_t i = 0; i < count; i++) {
        const double v = numbers[i];
        bool fits = false;
        if constexpr (std::is_floating_point_v<To>)
            fits = !std::isfinite(v) || std::abs(v) <= static_cast<double>(std::numeric_limits<To>::max());
        else
            fits = v >= static_cast<double>(std::numeric_limits<To>::min()) &&
                   v <= static_cast<double>(std::numeric_limits<To>::max()) && v == std::trunc(v);
        if (!fits)
            refuse("input '" + shown(name) + "': element " + std::to_string(i) + " is " + std::to_string(v) +
                   ", which its datatype cannot hold");
        const To value = static_cast<To>(v);
        std::memcpy(to.data() + i * sizeof(To), &value, sizeof(To));
    }
}

std::vector<std::byte> bytes_of_numbers(const given_tensor &given, data_type type) {
    std::vector<std::byte> bytes;
    const auto put_as = [&](auto zero) {
        put<decltype(zero)>(bytes, given.name, given.numbers.data(), given.numbers.size());
    };
    switch (type) {
    case data_type::f32:
        put_as(float());
        break;
    case data_type::s32:
        put_as(std::int32_t());
        break;
    case data_type::s16:
        put_as(std::int16_t());
        break;
    case data_type::s8:
        put_as(std::int8_t());
        break;
    case data_type::u8:
        put_as(std::uint8_t());
        break;
    default:
        refuse("input '" + shown(given.name) + "' is " + protocol_name(type) + ", which is sent as bytes");
    }
    return bytes;
}

/// ONNX's token ids: the network has 32 bits of them.
std::vector<std::byte> narrowed(const given_tensor &given) {
    std::vector<std::byte> bytes(given.bytes->size / 2);
    for (std::size_t i = 0; i < bytes.size() / 4; i++) {
        std::int64_t wide = 0;
        std::memcpy(&wide, given.bytes->data + 8 * i, 8);
        const auto value = static_cast<std::int32_t>(wide);
        if (value != wide)
            refuse("input '" + shown(given.name) + "': element " + std::to_string(i) + " is " +
                   std::to_string(wide) + ", allowed are numbers of 32 bits");
        std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    return bytes;
}

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

std::shared_ptr<job> service::make_job(const served_model &m, infer_request &request) const {
    const auto j = std::make_shared<job>();
    const std::size_t count = m.inputs().size();
    if (request.inputs.size() != count)
        refuse(std::to_string(request.inputs.size()) + " inputs given, the model has " +
               std::to_string(count) + ": " + names_of(m.inputs()));
    const auto owned = std::make_shared<owned_inputs>();
    owned->before = std::move(request.keep);
    j->inputs.resize(count);
    std::vector<memory::dims> shapes(count);
    std::vector<bool> is_given(count);
    for (given_tensor &given : request.inputs) {
        const std::size_t i = index_of(m.inputs(), given.name, "input");
        if (is_given[i])
            refuse("input '" + shown(given.name) + "' is given twice");
        is_given[i] = true;
        const data_type type = m.inputs()[i].type;
        const bool is_wide = given.datatype == "INT64" && type == data_type::s32;
        const bool is_truth = given.datatype == "BOOL" && type == data_type::u8;
        if (given.datatype != protocol_name(type) && !is_wide && !is_truth)
            refuse("input '" + shown(given.name) + "' has datatype '" + shown(given.datatype) +
                   "', the model's is " + protocol_name(type));
        const std::size_t expected = elements(given, options.most_body_bytes);
        const std::size_t width = is_wide ? 8 : size_of(type);
        if (given.bytes ? given.bytes->size != expected * width : given.numbers.size() != expected)
            refuse("input '" + shown(given.name) + "' has " +
                   (given.bytes ? std::to_string(given.bytes->size) + " bytes"
                                : std::to_string(given.numbers.size()) + " numbers") +
                   ", its shape " + shown(model::to_text(given.shape)) + " needs " +
                   std::to_string(given.bytes ? expected * width : expected));
        if ((!given.bytes || is_wide) && request.held && !request.held->grow(expected * size_of(type)))
            throw refusal(outcome::overloaded, "requests fill the memory for them");
        if (!given.bytes)
            owned->buffers.push_back(bytes_of_numbers(given, type));
        else if (is_wide)
            owned->buffers.push_back(narrowed(given));
        j->inputs[i] = !given.bytes || is_wide
                           ? byte_range{owned->buffers.back().data(), owned->buffers.back().size()}
                           : *given.bytes;
        j->bytes += j->inputs[i].size;
        shapes[i] = std::move(given.shape);
    }
    m.set_shapes(*j, shapes);
    for (const std::string &name : request.outputs) {
        const std::size_t o = index_of(m.outputs(), name, "output");
        if (std::find(j->wanted.begin(), j->wanted.end(), o) != j->wanted.end())
            refuse("output '" + name + "' is asked for twice");
        j->wanted.push_back(o);
    }
    if (request.outputs.empty())
        for (std::size_t i = 0; i < m.outputs().size(); i++)
            j->wanted.push_back(i);
    for (const auto &[name, classes] : request.classes) {
        if (classes < 1)
            refuse("parameter 'classification' of output '" + shown(name) + "' is " +
                   std::to_string(classes) + ", allowed are numbers from 1");
        const auto at = std::find(j->wanted.begin(), j->wanted.end(), index_of(m.outputs(), name, "output"));
        j->classes.resize(j->wanted.size());
        j->classes[static_cast<std::size_t>(at - j->wanted.begin())] = classes;
    }
    if (request.wants_profile && !options.may_profile)
        throw refusal(outcome::forbidden,
                      "parameter 'profile': the server was started without --allow-profiling");
    j->wants_profile = request.wants_profile;
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
                                                    answer done) {
    if (is_stopping_ || !models.is_loaded())
        throw refusal(outcome::unavailable, is_stopping_ ? "the server stops" : "the server is not ready");
    const auto c = std::make_shared<call>();
    c->id = std::move(request.id);
    c->trace = std::move(request.trace);
    c->peer = std::move(request.peer);
    c->model = models.find(request.model, request.version);
    try {
        c->work = make_job(*c->model, request);
        c->work->when_done = [this, c, protocol, done = std::move(done)](job &j) {
            try {
                if (j.result == outcome::ok && !j.classes.empty())
                    classify(*c->model, j);
            } catch (const refusal &e) {
                j.result = e.why;
                j.sentence = e.what();
            }
            finished(*c, protocol);
            done(c);
        };
        for (int tries = 0;; tries++)
            try {
                scheduler_.submit(c->model->queue, c->work);
                break;
            } catch (const refusal &r) { // replaced by another version since it was found
                if (r.why != outcome::unavailable || tries == 3)
                    throw;
                const auto next = models.find(request.model, request.version);
                if (!next->takes_request_of(*c->model, *c->work))
                    throw;
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
