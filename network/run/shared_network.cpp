// Plans are found by a text of their sizes, and a new one is made while the others wait: its weights are packed once.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/shared_network.hpp"

#include <algorithm>

#include "network/graph/file.hpp"
#include "network/graph/graph.hpp"
#include "network/graph/node_marks.hpp"
#include "network/run/sizes.hpp"
#include "network/runtime.hpp"
#include "network/saved/plan_file.hpp"

namespace octet::model {
namespace {

/// Sizes of a server's requests; plans beyond are made again.
constexpr std::size_t most_plans = 16;

std::string key_of(const network_sizes &sizes) {
    std::string key = std::to_string(sizes.batch);
    for (const auto &[name, dims] : sizes.shapes)
        key += "\n" + name + " " + to_text(dims);
    for (const auto &[name, size] : sizes.dimensions)
        key += "\n" + name + "=" + std::to_string(size);
    return key;
}

/// Whether some product sums up a single row in another order than several.
bool has_single_rows(const graph &g) {
    return std::any_of(g.nodes.begin(), g.nodes.end(),
                       [](const node &n) { return marks_of(n).sums_rows_alone; });
}

void check_blocks(const network_options &options) {
    if (options.nbits != "onnxruntime" && options.nbits != "ordered")
        refuse("nbits is " + quoted(options.nbits) + ", allowed: onnxruntime, ordered");
    if (const std::int64_t level = options.qdq_nbits_level; level < 0 || level > 4)
        refuse("qdq_nbits_level is " + std::to_string(level) + ", allowed: 0 to 4");
    if (const std::int64_t block = options.qdq_nbits_block;
        block != 0 && block != -1 && (block < 16 || block > 256 || (block & (block - 1)) != 0))
        refuse("qdq_nbits_block is " + std::to_string(block) + ", allowed: 0, -1, 16, 32, 64, 128, 256");
}

std::string text_of(const std::string &name) { return name.empty() ? "none" : name; }
std::string text_of(requantization_rule rule) { return to_string(rule); }
std::string text_of(std::int64_t number) { return std::to_string(number); }

/// Takes an option as the plan was saved. Who asks for another value than the usual one must mean the same.
template <typename T>
void take_saved(const char *name, T network_options::*option, network_options &options,
                const network_options &saved) {
    static const network_options usual;
    if (options.*option != usual.*option && options.*option != saved.*option)
        refuse_as_unimplemented(std::string(name) + " " + text_of(options.*option) +
                                ": the plan was saved with " + text_of(saved.*option));
    options.*option = saved.*option;
}

/// A saved plan has the options that decide its bytes.
network_options options_for(const graph &g, network_options options) {
    if (!options.profile.empty() && options.rule != requantization_rule::automatic)
        refuse("profile " + options.profile + " and rule " + to_string(options.rule) +
               " are given, allowed: one of them");
    if (!options.profile.empty())
        check_profile(options.profile, g.framework);
    check_blocks(options);
    if (!g.saved)
        return options;
    const network_options &saved = g.saved->options;
    take_saved("profile", &network_options::profile, options, saved);
    take_saved("rule", &network_options::rule, options, saved);
    take_saved("nbits", &network_options::nbits, options, saved);
    take_saved("qdq_is_int8_allowed", &network_options::qdq_is_int8_allowed, options, saved);
    take_saved("qdq_nbits_level", &network_options::qdq_nbits_level, options, saved);
    take_saved("qdq_nbits_block", &network_options::qdq_nbits_block, options, saved);
    check_blocks(options); // a file may hold anything
    if (options.rows_alike && !saved.rows_alike && has_single_rows(g))
        refuse_as_unimplemented(
            "rows_alike: the plan was saved without it, and has single rows whose sums depend on it; "
            "save the network again with it");
    options.rows_alike = options.rows_alike || saved.rows_alike;
    return options;
}

} // namespace

shared_network::shared_network(graph g, network_options options, std::vector<tensor_id> lent)
    : saved_(g.saved), options_(options_for(g, std::move(options))), lent_(std::move(lent)),
      has_borrowed_(std::any_of(g.tensors.begin(), g.tensors.end(),
                                [](const tensor &t) { return is_borrowed(t.data); })),
      has_named_sizes_(any_of(inputs_of(g), [&](tensor_id t) { return !tensor_at(g, t).dim_names.empty(); })),
      is_open_(has_open_sizes(g)), source_(g),
      weights_(saved_ ? packed_weights(saved_->weights) : packed_weights()) {}

/// The network before the passes. Of a saved plan, elements that are packed are zeros.
graph shared_network::sized_source(const network_sizes &sizes) const {
    graph g = source_.get();
    if (saved_)
        g = source_of(g);
    set_sizes(g, sizes);
    require_first_dimensions(g);
    return g;
}

std::optional<graph> shared_network::open_graph(const network_sizes &sizes) const {
    if (!is_open_)
        return {};
    graph g = source_.get();
    check_operators(g);
    set_input_sizes(g, sizes);
    return has_open_sizes(g) ? std::optional(std::move(g)) : std::nullopt;
}

bool shared_network::is_for_saved_sizes(const graph &g) const {
    if (!saved_)
        return false;
    return all_of(inputs_of(g),
                  [&](tensor_id t) { return tensor_at(g, t).dims == tensor_at(saved_->source, t).dims; });
}

void shared_network::require_constants(const char *what) const {
    if (has_borrowed_)
        refuse(std::string("the network was made with borrowed constants, which are gone: ") + what);
}

/// Gives the source of a saved plan the elements that are zeros in the file. Their layouts are those that the plan's
/// own primitives chose, not what the file says.
void shared_network::unpack_weights(graph &g) {
    const saved_plan &saved = *saved_;
    if (unpacked_.empty())
        for (const auto &w : plan_at({})->weights) {
            if (w->original.owner() != saved.zeros.owner() || unpacked_.count(w->original.data()) != 0)
                continue;
            const shared_bytes elements = unpacked(*w);
            unpacked_.emplace(w->original.data(), elements);
            for (const saved_constant &s : saved.weights) // who wants the saved layouts needs no packing
                if (s.original.data() == w->original.data())
                    weights_.add({elements, s.plain, s.chosen, s.packed});
        }
    for (tensor &t : g.tensors)
        if (const auto found = unpacked_.find(t.data.data()); t.is_constant && found != unpacked_.end())
            t.data = found->second;
}

std::shared_ptr<const plan> shared_network::at(const network_sizes &sizes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return plan_at(sizes);
}

void shared_network::save(const byte_sink &put, const plan &p, const network_sizes &sizes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    require_constants("it cannot be saved");
    graph source = sized_source(sizes);
    if (saved_ && !is_for_saved_sizes(source))
        unpack_weights(source);
    save_plan(put, p, source, options_);
}

std::shared_ptr<const plan> shared_network::plan_at(const network_sizes &sizes) {
    const std::string key = key_of(sizes);
    const auto found =
        std::find_if(plans_.begin(), plans_.end(), [&](const auto &entry) { return entry.first == key; });
    if (found != plans_.end()) {
        plans_.splice(plans_.begin(), plans_, found);
        return found->second;
    }
    if (!plans_.empty() && !has_named_sizes_)
        require_constants("it cannot have other sizes");
    struct unpacked_scope {
        recovered_constants *constants;
        explicit unpacked_scope(recovered_constants *c) : constants(c) {
            if (constants)
                constants->unpack();
        }
        ~unpacked_scope() {
            if (constants)
                constants->drop();
        }
    };
    const unpacked_scope elements(recovered_ ? &*recovered_ : nullptr);
    const num_threads_scope threads(options_.threads);
    const parallel_phase phase; // primitives are planned for threads that are awake, as in a run
    const bool is_saved = saved_ && key == key_of({});
    graph g = is_saved ? source_.get() : sized_source(sizes);
    if (!is_saved && is_for_saved_sizes(g))
        return plan_at({});
    if (!is_saved && saved_)
        unpack_weights(g);
    plans_.emplace_front(key, make_plan(std::move(g), options_, weights_, lent_));
    if (plans_.size() > most_plans)
        plans_.pop_back();
    return plans_.front().second;
}

void shared_network::forget_borrowed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_borrowed_ || !has_named_sizes_ || plans_.empty() || recovered_)
        return;
    graph source = source_.get();
    std::vector<std::shared_ptr<const plan>> plans;
    for (const auto &[key, p] : plans_)
        plans.push_back(p);
    recovered_.emplace(source, plans, weights_);
    weights_.forget_lent();
    source_ = stored_graph(source);
}

std::size_t shared_network::weight_bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<const void *, std::size_t> bytes; // by address: plans share them
    for (const auto &[key, p] : plans_) {
        for (const auto &constant : p->weights)
            bytes[constant->packed.get_data_handle()] = constant->packed.get_desc().get_size();
        for (const auto &constants : p->joint_weights)
            bytes[constants->bytes.get()] = constants->size;
        for (const buffer &b : p->buffers)
            if (b && b.is_shared())
                bytes[b.get_memory().get_data_handle()] = b.get_desc().get_size();
    }
    std::size_t total = 0;
    for (const auto &[address, size] : bytes)
        total += size;
    return total;
}

} // namespace octet::model
