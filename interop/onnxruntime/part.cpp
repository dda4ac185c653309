// Buffers of ONNX Runtime's are bound anew for each run: its allocator gives the same bytes to other tensors
// in the next. What is known of tensors is asked for once, since runs of a few microseconds count. INT64 is
// s32 in networks, so such tensors are copied.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/part.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <set>

#include "octet/thread_loan.hpp"
#include "onnxruntime/compiled.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace octet::onnxruntime {
namespace {

using dims = std::vector<std::int64_t>;

/// Contexts that wait for the next run; one that more runs at once needed is released.
constexpr std::size_t most_idle = 16;

/// Sizes at which a network with open dimensions has to work before it is claimed: the first dimension of an
/// input, and others. A node may fail at one of these sizes and still run at others.
struct trial {
    std::int64_t first, others;
};
constexpr trial trials[] = {{1, 16}, {2, 32}, {1, 64}, {2, 224}, {3, 8}, {1, 1}};
constexpr std::size_t needed_trials = 2;

bool is_open(const graph &g, const selection &part) {
    return std::any_of(part.inputs.begin(), part.inputs.end(), [&](int v) {
        const dims &d = g.values[static_cast<std::size_t>(v)].dims;
        return std::count(d.begin(), d.end(), -1) != 0;
    });
}

/// Equal names have equal sizes.
std::vector<dims> sizes_at(const graph &g, const selection &part, const trial &t) {
    std::map<std::string, std::int64_t> named;
    for (const int i : part.inputs) // a name that is a first dimension somewhere is so everywhere
        if (const value &v = g.values[static_cast<std::size_t>(i)];
            !v.dims.empty() && v.dims[0] < 0 && !v.dim_names[0].empty())
            named.emplace(v.dim_names[0], t.first);
    std::vector<dims> all;
    for (const int i : part.inputs) {
        const value &v = g.values[static_cast<std::size_t>(i)];
        dims one = v.dims;
        for (std::size_t d = 0; d < one.size(); d++)
            if (one[d] < 0) {
                const auto found = named.find(v.dim_names[d]);
                one[d] = found != named.end() ? found->second : d == 0 ? t.first : t.others;
            }
        all.push_back(std::move(one));
    }
    return all;
}

struct shape_owner {
    const runtime &ort;
    ort_shape_info *shape = nullptr;
    explicit shape_owner(const runtime &r, const ort_value *v) : ort(r) {
        ort(api::get_tensor_shape, v, &shape);
    }
    ~shape_owner() {
        if (shape)
            ort(api::release_shape, shape);
    }
    shape_owner(const shape_owner &) = delete;
    shape_owner &operator=(const shape_owner &) = delete;
};

dims dims_of(const runtime &ort, const ort_value *v) {
    const shape_owner held(ort, v);
    const ort_shape_info *const shape = held.shape;
    std::size_t rank = 0;
    ort(api::get_dimensions_count, shape, &rank);
    dims d(rank);
    if (rank != 0)
        ort(api::get_dimensions, shape, d.data(), rank);
    return d;
}

void *data_of(const runtime &ort, const ort_value *v) {
    void *data = nullptr;
    ort(api::get_tensor_data, const_cast<ort_value *>(v), &data);
    return data;
}

bool is_aligned(const void *bytes, data_type type) {
    return reinterpret_cast<std::uintptr_t>(bytes) % memory::data_type_size(type) == 0;
}

network_options options_of(const session_settings &settings) {
    network_options options;
    options.threads = settings.threads;
    options.memory_limit = settings.memory_limit;
    options.profile = settings.profile;
    options.qdq_is_int8_allowed = settings.signed_pairs;
    options.nbits = settings.nbits;
    options.rows_alike = settings.rows_alike;
    options.qdq_nbits_level = settings.nbits_level;
    options.qdq_nbits_block = settings.nbits_block;
    return options;
}

/// Tells the thread sanitizer what ONNX Runtime's loops guarantee, since it is not instrumented: what was
/// written before the loop is seen in its tasks, and what they write after the loop.
class ordered_task {
public:
#ifdef __SANITIZE_THREAD__
    static void publish(void *loop) { __tsan_release(loop); }
    static void observe(void *loop) { __tsan_acquire(loop); }
#else
    static void publish(void *) {}
    static void observe(void *) {}
#endif
    explicit ordered_task(void *loop) : loop_(loop) { observe(loop); }
    ~ordered_task() { publish(loop_); }
    ordered_task(const ordered_task &) = delete;
    ordered_task &operator=(const ordered_task &) = delete;

private:
    void *const loop_;
};

/// Types that a part may read or write.
void check_border(const value &v) {
    static const std::set<int> allowed = {element::f32, element::f16, element::u8,     element::s8,
                                          element::s32, element::s64, element::boolean};
    if (allowed.count(v.type) == 0)
        throw error(status::unimplemented,
                    "tensor '" + v.name + "' is of type " + std::to_string(v.type) +
                        " of ONNX, allowed between parts are f32, f16, u8, s8, s32, INT64 and BOOL");
}

} // namespace

void part::set_ports(const graph &g, const selection &nodes) {
    for (const int v : nodes.inputs) {
        const value &read = g.values[static_cast<std::size_t>(v)];
        check_border(read);
        if (!read.has_shape)
            throw error(status::unimplemented, "tensor '" + read.name + "' has no known dimensions");
        inputs_.push_back({read.name, read.type, read.dims});
    }
    for (const int v : nodes.outputs) {
        check_border(g.values[static_cast<std::size_t>(v)]);
        const value &written = g.values[static_cast<std::size_t>(v)];
        outputs_.push_back({written.name, written.type, written.dims});
    }
    if (outputs_.empty())
        throw error(status::unimplemented, "nobody reads what it computes");
}

/// total_sequence_length of GroupQueryAttention is computed from sizes, or an input.
void part::find_grown(const graph &g, const selection &nodes) {
    constexpr std::size_t total = 6, past = 3; // among the inputs; keys and values side by side
    const auto place_of = [](const std::vector<int> &values, int v) {
        return static_cast<std::size_t>(std::find(values.begin(), values.end(), v) - values.begin());
    };
    for (const int i : nodes.nodes) {
        const node &n = g.nodes[static_cast<std::size_t>(i)];
        if (n.op != "GroupQueryAttention" || n.inputs.size() <= total)
            continue;
        for (std::size_t k = 0; k < 2 && k + 1 < n.outputs.size(); k++) {
            const grown found{place_of(nodes.inputs, n.inputs[total]),
                              place_of(nodes.inputs, n.inputs[past + k]),
                              place_of(nodes.outputs, n.outputs[1 + k])};
            if (found.total < inputs_.size() && found.past < inputs_.size() &&
                found.present < outputs_.size() && inputs_[found.total].type == element::s32)
                grown_.push_back(found);
        }
    }
}

part::part(const runtime &ort, const graph &g, const selection &nodes, const session_settings &settings,
           const std::function<void(const std::string &)> &tell)
    : ort_(ort), nodes_(nodes.nodes), is_open_(onnxruntime::is_open(g, nodes)) {
    set_ports(g, nodes);
    find_grown(g, nodes);
    const network_options options = options_of(settings);
    cached_network cached(settings, tell);
    const bool is_final = !settings.wants_context_model && settings.cache_dir.empty();
    const constants kind = is_final ? constants::borrowed : constants::copied;
    std::size_t succeeded = 0;
    std::optional<error> reason;
    for (const trial &t : trials) {
        const sizes at = sizes_at(g, nodes, t);
        try {
            if (network_) {
                resized(at);
            } else {
                network_ =
                    std::make_unique<network>(cached.make(network_of(ort_, g, nodes, at, kind), options));
                fixed_ = at;
            }
            if (++succeeded == (is_open_ ? needed_trials : 1) || cached.is_from_file()) {
                cached.keep(*network_);
                network_->forget_borrowed();
                return;
            }
        } catch (const error &e) {
            if (!reason)
                reason = e;
        }
        if (!is_open_)
            break;
    }
    throw *reason;
}

std::map<int, std::string> part::refused(const runtime &ort, const graph &g, const selection &nodes) {
    try {
        return refused_in(ort, g, nodes, sizes_at(g, nodes, trials[0]));
    } catch (const error &) {
        return {};
    }
}

part::part(const runtime &ort, const graph &g, int compiled, const std::string &folder,
           const session_settings &settings)
    : ort_(ort), nodes_{compiled} {
    const selection alone = select(g, {compiled});
    set_ports(g, alone);
    is_open_ = onnxruntime::is_open(g, alone);
    network_ = std::make_unique<network>(read_compiled(g.nodes[static_cast<std::size_t>(compiled)], folder),
                                         options_of(settings));
    const auto order = [&](std::vector<port> &ports, std::size_t count, const auto &tensor_at) {
        std::vector<port> ordered; // as the plan has them
        for (std::size_t i = 0; i < count; i++) {
            const tensor_view t = tensor_at(i);
            const auto found =
                std::find_if(ports.begin(), ports.end(), [&](const port &p) { return p.name == t.name(); });
            if (found == ports.end() || octet_type(found->type) != t.data_type() ||
                found->dims.size() != t.dims().size())
                refuse("the plan reads or writes " + t.text() + ", which the compiled model's node does not");
            ordered.push_back(*found);
        }
        ports = std::move(ordered);
    };
    order(inputs_, network_->input_count(), [&](std::size_t i) { return network_->input(i); });
    order(outputs_, network_->output_count(), [&](std::size_t i) { return network_->output(i); });
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        const memory::dims &d = network_->input(i).dims();
        fixed_.emplace_back(d.begin(), d.end());
        for (std::size_t k = 0; k < d.size(); k++)
            if (inputs_[i].dims[k] >= 0 && inputs_[i].dims[k] != d[k])
                refuse("the plan reads " + network_->input(i).text() +
                       ", which the compiled model's node has in another size");
    }
}

void part::connect(const std::vector<std::string> &inputs, const std::vector<std::string> &outputs) {
    const auto find = [](std::vector<port> &ports, const std::vector<std::string> &names) {
        for (port &p : ports) {
            const auto found = std::find(names.begin(), names.end(), p.name);
            if (found == names.end())
                refuse("tensor '" + p.name + "' is none of the node that took the part's place");
            p.place = static_cast<std::size_t>(found - names.begin());
        }
    };
    find(inputs_, inputs);
    find(outputs_, outputs);
    if (outputs.size() != outputs_.size())
        refuse("the node that took the part's place has " + std::to_string(outputs.size()) +
               " outputs, expected are " + std::to_string(outputs_.size()));
}

/// Without open sizes no other tensor comes that has this many bytes.
part::idle_context part::context_for(ort_kernel_context *context,
                                     std::vector<const ort_value *> &values) const {
    for (const port &p : inputs_) {
        const ort_value *v = nullptr;
        ort_(api::context_input, static_cast<const ort_kernel_context *>(context), p.place, &v);
        if (!v)
            refuse("input '" + p.name + "' is absent");
        values.push_back(v);
    }
    if (!is_open_)
        return take(fixed_);
    sizes at;
    for (const ort_value *v : values)
        at.push_back(dims_of(ort_, v));
    for (const grown &y : grown_) {
        const auto total = *static_cast<const std::int32_t *>(data_of(ort_, values[y.total]));
        at.push_back(at[y.past].size() == 4 && total <= at[y.past][2] ? at[y.past] : dims());
    }
    return take(at);
}

part::idle_context part::take(const sizes &at) const {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto i = idle_.rbegin(); i != idle_.rend(); ++i)
            if (i->at == at) {
                idle_context c = std::move(*i);
                idle_.erase(std::next(i).base());
                return c;
            }
    }
    idle_context c{at, at == fixed_ ? network_->new_context() : resized(at)};
    const auto facts_of = [](const tensor_view &t, std::vector<tensor_facts> &all) {
        all.push_back({t.data_type(), t.size_in_bytes(), {t.dims().begin(), t.dims().end()}});
    };
    for (std::size_t i = 0; i < inputs_.size(); i++)
        facts_of(c.net.input(i), c.inputs);
    for (std::size_t i = 0; i < outputs_.size(); i++)
        facts_of(c.net.output(i), c.outputs);
    c.read.resize(inputs_.size());
    c.written.resize(outputs_.size());
    return c;
}

network part::resized(const sizes &at) const {
    network net = network_->new_context();
    network_sizes wanted;
    for (std::size_t i = 0; i < inputs_.size(); i++)
        wanted.shapes.emplace(inputs_[i].name, memory::dims(at[i].begin(), at[i].end()));
    for (std::size_t i = inputs_.size(); i < at.size(); i++)
        if (!at[i].empty())
            wanted.shapes.emplace(outputs_[grown_[i - inputs_.size()].present].name,
                                  memory::dims(at[i].begin(), at[i].end()));
    net.resize(wanted);
    return net;
}

void part::give_back(idle_context c) const {
    std::optional<idle_context> released; // outside of the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(c));
    if (idle_.size() > most_idle) {
        released = std::move(idle_.front());
        idle_.erase(idle_.begin());
    }
}

/// Whether to ask for the session's threads. One whose threads have never come may have a single one, or its
/// others were late: it gets Octet's own, and is asked now and then.
bool part::borrows_threads() const {
    constexpr unsigned first_runs = 4, runs_between = 32;
    if (!may_borrow_threads_ || has_lenders_)
        return may_borrow_threads_;
    const unsigned runs = runs_alone_++;
    return runs < first_runs || runs % runs_between == 0;
}

/// Waiting threads of the session help a run: ONNX Runtime calls tasks on its own threads, in an order and a
/// number of its own, and whoever is first works, the others serve. Without lenders the loops of this thread
/// are its own. Returns whether one came.
bool part::run_on_loan(ort_kernel_context *context, idle_context &c, int threads, bool has_lenders) const {
    struct shared_run {
        network &net;
        thread_loan loan;
        std::atomic<bool> is_begun{false}, is_over{false}, has_help{false};
        std::exception_ptr failure = {};

        shared_run(network &n, int threads) : net(n), loan(threads) {}
        void task() {
            const ordered_task order(this);
            if (is_begun.exchange(true)) {
                if (!is_over)
                    has_help = true;
                return loan.serve();
            }
            try {
                loan.run([this] { net.run(); });
            } catch (...) {
                failure = std::current_exception();
            }
            is_over = true;
        }
    };
    shared_run all(c.net, threads);
    ordered_task::publish(&all);
    if (has_lenders)
        ort_(
            api::parallel_for, static_cast<const ort_kernel_context *>(context),
            +[](void *self, std::size_t) { static_cast<shared_run *>(self)->task(); },
            static_cast<std::size_t>(threads), std::size_t{0}, static_cast<void *>(&all));
    else
        all.task();
    ordered_task::observe(&all);
    if (all.failure)
        std::rethrow_exception(all.failure);
    c.divides_loops = all.loan.is_used();
    return all.has_help;
}

/// In a session whose threads wait for other nodes, spinning, Octet's would take turns with them on the
/// cores. The first runs tell whether the session's threads are worth handing over, which takes some
/// microseconds.
void part::run(ort_kernel_context *context, idle_context &c) const {
    const int threads = c.net.options().threads > 0 ? c.net.options().threads : get_num_threads();
    if (threads == 1 || !c.divides_loops || !borrows_threads())
        return c.net.run();
    const bool asks = c.chosen.asks();
    const auto start = std::chrono::steady_clock::now();
    const bool has_help = run_on_loan(context, c, threads, asks);
    c.chosen.note(asks, std::chrono::steady_clock::now() - start);
    if (has_help)
        has_lenders_ = true;
}

void part::compute(ort_kernel_context *context) const {
    std::vector<const ort_value *> sources;
    sources.reserve(inputs_.size());
    idle_context c = context_for(context, sources);
    network &net = c.net;
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        const tensor_facts &x = c.inputs[i];
        const void *const bytes = data_of(ort_, sources[i]);
        const std::size_t expected = inputs_[i].type == element::s64 ? 2 * x.bytes : x.bytes;
        std::size_t size = expected; // open ones have been compared
        if (!is_open_)
            ort_(api::tensor_bytes, sources[i], &size);
        if (size != expected)
            refuse("input '" + inputs_[i].name + "' has " + std::to_string(size) + " bytes, the model says " +
                   std::to_string(expected));
        const bool is_copied = inputs_[i].type == element::s64 || !is_aligned(bytes, x.type);
        c.read[i] = {is_copied ? nullptr : bytes, x.bytes};
    }
    std::vector<void *> results;
    results.reserve(outputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); i++) {
        const tensor_facts &y = c.outputs[i];
        ort_value *v = nullptr;
        ort_(api::context_output, context, outputs_[i].place, y.dims.data(), y.dims.size(), &v);
        results.push_back(data_of(ort_, v));
        const bool is_copied = outputs_[i].type == element::s64 || !is_aligned(results[i], y.type);
        c.written[i] = {is_copied ? nullptr : results[i], y.bytes};
    }
    net.bind(c.read, c.written); // earlier bindings are replaced and no longer read
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        if (c.read[i].bytes)
            continue;
        const tensor_view x = net.input(i);
        if (const void *const bytes = data_of(ort_, sources[i]); inputs_[i].type == element::s64)
            x.copy_from(static_cast<const std::int64_t *>(bytes), x.element_count());
        else
            x.copy_bytes_from(bytes, x.size_in_bytes());
    }
    run(context, c);
    for (std::size_t i = 0; i < outputs_.size(); i++) {
        if (c.written[i].bytes)
            continue;
        const tensor_view y = net.output(i);
        if (outputs_[i].type == element::s64)
            std::copy_n(y.data_as<std::int32_t>(), y.element_count(),
                        static_cast<std::int64_t *>(results[i]));
        else
            std::copy_n(static_cast<const char *>(y.data()), y.size_in_bytes(),
                        static_cast<char *>(results[i]));
    }
    give_back(std::move(c));
}

} // namespace octet::onnxruntime
