// Nothing is thrown out of here: failures are statuses, and functions that cannot tell one do nothing that fails.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/provider.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "octet/octet.hpp"
#include "onnxruntime/compiled.hpp"

namespace octet::onnxruntime {
namespace {

/// Runs a part; ONNX Runtime asks for a state of its own, which there is none of.
class compute_info : public function_table<room> {
public:
    compute_info(const runtime &ort, std::unique_ptr<part> p) : ort_(ort), part_(std::move(p)) {
        set(
            1, +[](compute_info *, ort_compute_context *, void **state) -> ort_status * {
                *state = nullptr;
                return nullptr;
            });
        set(
            2, +[](compute_info *self, void *, ort_kernel_context *context) -> ort_status * {
                return self->ort_.guarded([&] { self->part_->compute(context); });
            });
        set(
            3, +[](compute_info *, void *) {});
    }

private:
    const runtime &ort_;
    std::unique_ptr<part> part_;
};

class provider : public function_table<room> {
public:
    provider(const runtime &ort, const session_settings &settings, const ort_logger *logger)
        : ort_(ort), settings_(settings), logger_(logger) {
        set(
            1, +[](const provider *) { return provider_name; });
        set(
            2, +[](provider *self, const ort_graph *g, ort_support_info *info) -> ort_status * {
                return self->ort_.guarded([&] { self->get_capability(g, info); });
            });
        set(
            3,
            +[](provider *self, const ort_graph **, const ort_node **fused, std::size_t count,
                function_table<room> **infos, ort_node **context_nodes) -> ort_status * {
                return self->ort_.guarded([&] {
                    std::fill_n(infos, count, nullptr);
                    for (std::size_t i = 0; i < count; i++)
                        infos[i] = self->compile(fused[i], context_nodes ? &context_nodes[i] : nullptr);
                });
            });
        set(
            4, +[](provider *, function_table<room> **infos, std::size_t count) {
                for (std::size_t i = 0; i < count; i++)
                    delete static_cast<compute_info *>(infos[i]);
            });
        set(
            12, +[](provider *self, const ort_graph *) { return self->compatibility_.c_str(); });
    }

private:
    void tell(const std::string &sentence) const {
        if (settings_.log)
            ort_.warn(logger_, std::string(provider_name) + ": " + sentence);
    }

    /// Called once per graph, before `compile` for the same one.
    void get_capability(const ort_graph *source, ort_support_info *info) {
        waiting_.clear();
        unusable_.clear();
        model_path_ = ort_.text(api::model_path, source);
        const graph g = read_graph(ort_, source);
        auto parts = claim(ort_, g, settings_, [&](const std::string &sentence) { tell(sentence); });
        std::size_t taken = 0;
        for (const std::unique_ptr<part> &p : parts) {
            take(g, p->nodes(), info);
            taken += p->nodes().size();
        }
        for (std::size_t i = 0; i < g.nodes.size(); i++)
            if (is_compiled(g.nodes[i])) {
                take(g, {static_cast<int>(i)}, info);
                take_compiled(g, static_cast<int>(i), parts);
                taken++;
            }
        if (taken < g.nodes.size())
            for (const std::unique_ptr<part> &p : parts)
                p->use_threads_of_session();
        waiting_ = std::move(parts);
    }

    void take(const graph &g, const std::vector<int> &numbers, ort_support_info *info) const {
        std::vector<const ort_node *> nodes;
        for (const int i : numbers)
            nodes.push_back(g.nodes[static_cast<std::size_t>(i)].handle);
        const ep_api::fusion_options options;
        ort_.ep(ep_api::add_nodes_to_fuse, info, nodes.data(), nodes.size(), &options);
    }

    /// Nobody else can run such a node: a plan that cannot be used fails the session, in `compile`, which can tell why.
    void take_compiled(const graph &g, int i, std::vector<std::unique_ptr<part>> &parts) {
        const node &n = g.nodes[static_cast<std::size_t>(i)];
        const std::filesystem::path path = model_path_.empty() ? settings_.context_path : model_path_;
        const bool is_beside_nothing = !path.empty() && !path.has_parent_path();
        try {
            parts.push_back(std::make_unique<part>(
                ort_, g, i, is_beside_nothing ? "." : path.parent_path().string(), settings_));
            tell("taken: " + text_of(g, i) + ", compiled before");
        } catch (const error &e) {
            if (!n.outputs.empty() && n.outputs[0] >= 0)
                unusable_.emplace(g.values[static_cast<std::size_t>(n.outputs[0])].name, e.what());
        }
    }

    /// A part is known by a tensor that it writes.
    compute_info *compile(const ort_node *fused, ort_node **context_node) {
        const auto inputs = names(api::node_input_count, api::node_inputs, fused),
                   outputs = names(api::node_output_count, api::node_outputs, fused);
        for (const std::string &output : outputs)
            if (const auto found = unusable_.find(output); found != unusable_.end())
                refuse(std::string(provider_name) + ": " + found->second);
        const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto &p) {
            return p && std::count(outputs.begin(), outputs.end(), p->first_output()) != 0;
        });
        if (found == waiting_.end())
            refuse("a node to compile is none of the parts that were claimed");
        (*found)->connect(inputs, outputs);
        if (settings_.wants_context_model && context_node)
            *context_node = compiled_model(ort_, settings_, model_path_)
                                .node_of((*found)->plan(), compiled_++, ort_.text(api::node_name, fused),
                                         inputs, outputs);
        return new compute_info(ort_, std::move(*found));
    }

    template <typename Count, typename Items>
    std::vector<std::string> names(Count count, Items items, const ort_node *n) const {
        std::vector<std::string> result;
        for (const ort_value_info *v : ort_.list(count, items, n))
            result.push_back(v ? ort_.text(api::value_name, v) : "");
        return result;
    }

    const runtime &ort_;
    const session_settings settings_;
    const ort_logger *const logger_;
    std::vector<std::unique_ptr<part>> waiting_;  ///< claimed and not compiled yet
    std::map<std::string, std::string> unusable_; ///< compiled nodes, by an output: why not
    std::size_t compiled_ = 0;                    ///< parts of a compiled model so far
    std::string model_path_;                      ///< "" for a model in no file
    const std::string compatibility_ = compatibility();
};

/// The version whose bytes are the contract.
constexpr const char *known_version = "1.30";

} // namespace

factory::factory(const ort_api_base &base) : ort_(base) {
    set(
        1, +[](const factory *) { return provider_name; });
    set(
        2, +[](const factory *) { return "Octet"; });
    set(
        3,
        +[](factory *self, const ort_hardware_device *const *devices, std::size_t count,
            ort_ep_device **found, std::size_t most, std::size_t *found_count) -> ort_status * {
            *found_count = 0;
            return self->ort_.guarded([&] {
                for (std::size_t i = 0; i < count && *found_count < most; i++)
                    if (self->ort_(api::hardware_type, devices[i]) == hardware_cpu)
                        found[(*found_count)++] = self->device(devices[i]);
            });
        });
    set(
        4,
        +[](factory *self, const ort_hardware_device *const *, const ort_key_values *const *, std::size_t,
            const ort_session_options *options, const ort_logger *logger,
            function_table<room> **made) -> ort_status * {
            *made = nullptr;
            return self->ort_.guarded([&] { *made = self->make_provider(options, logger); });
        });
    set(
        5, +[](factory *, function_table<room> *made) { delete static_cast<provider *>(made); });
    set(
        6, +[](const factory *) -> std::uint32_t { return 0; }); // no vendor of a device
    set(
        7, +[](const factory *) { return version(); });
    set(
        8,
        +[](factory *self, const ort_hardware_device *const *, std::size_t, const char *told,
            int *answer) -> ort_status * {
            *answer = ort_compatibility::unknown;
            return self->ort_.guarded([&] { *answer = compatibility_with(told ? told : ""); });
        });
    set(
        9, +[](factory *, const void *, const ort_key_values *, void **allocator) -> ort_status * {
            *allocator = nullptr; // ONNX Runtime's own
            return nullptr;
        });
    set(
        10, +[](factory *, void *) {});
    set(
        11, +[](factory *, void **transfer) -> ort_status * {
            *transfer = nullptr; // tensors are plain memory
            return nullptr;
        });
    set(
        12, +[](const factory *) { return false; });
}

/// Programs can read what it says of itself.
ort_ep_device *factory::device(const ort_hardware_device *hardware) {
    struct owned {
        const runtime &ort;
        ort_key_values *pairs = nullptr;
        ~owned() { ort(api::release_key_values, pairs); }
    } metadata{ort_};
    ort_(api::create_key_values, &metadata.pairs);
    ort_(api::add_key_value, metadata.pairs, "octet_version", version());
    ort_(api::add_key_value, metadata.pairs, "bytes_of", known_version);
    ort_ep_device *made = nullptr;
    ort_.ep(ep_api::create_ep_device, reinterpret_cast<ort_ep_factory *>(this), hardware,
            static_cast<const ort_key_values *>(metadata.pairs), static_cast<const ort_key_values *>(nullptr),
            &made);
    return made;
}

function_table<room> *factory::make_provider(const ort_session_options *options, const ort_logger *logger) {
    const session_settings settings = read_settings(ort_, options);
    if (settings.log && ort_.version().rfind(std::string(known_version) + ".", 0) != 0)
        ort_.warn(logger, std::string(provider_name) + ": bytes are those of ONNX Runtime " + known_version +
                              ", this is " + ort_.version());
    return new provider(ort_, settings, logger);
}

} // namespace octet::onnxruntime
