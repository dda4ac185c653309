#pragma once // SPDX-License-Identifier: Apache-2.0

// One version of a model, loaded and warm: its networks, the contexts to run them in, and how their batches look.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/datatypes.hpp"
#include "core/findings.hpp"
#include "core/metrics.hpp"
#include "core/model_config.hpp"
#include "core/model_source.hpp"
#include "core/open_sizes.hpp"
#include "core/scheduler.hpp"
#include "core/sequences.hpp"
#include "octet/network.hpp"

namespace octet::serve {

class served_model : public executor, private keeps_plans {
public:
    /// Reads, plans, measures and warms. `workers`: what may call `run` at once. `stop` is asked now and then, and ends
    /// the work with an exception. What is known is not measured. Throws octet::error.
    static std::shared_ptr<served_model> load(const model_source &source, const model_config &config,
                                              int workers, const std::function<bool()> &stop = {},
                                              const model_findings *known = nullptr);
    /// Nothing is measured of a model with a past: its steps take any number of sequences.
    model_findings findings() const {
        if (sequences_)
            return {};
        return {queue_options_.sizes, unbatchable_because_, queue_options_.seconds_per_row,
                has_latency_mode(), true};
    }
    ~served_model() override;

    const std::string &name() const { return name_; }
    const std::string &version() const { return version_; }
    std::string platform() const { return "octet_" + framework_; }
    const std::vector<tensor_info> &inputs() const { return inputs_; }
    const std::vector<tensor_info> &outputs() const { return outputs_; }
    bool is_batching() const { return unbatchable_because_.empty(); }
    /// Returns `network_options::rows_alike` of an .onnx model, also of one in a saved plan. Empty for other
    /// models, whose rows are alike anyway.
    std::optional<bool> has_rows_alike() const { return rows_alike_; }
    const std::string &why_not_batching() const { return unbatchable_because_; }
    std::int64_t most_rows() const { return is_batching() ? most_rows_ : 1; }
    const queue_options &queue_settings() const { return queue_options_; }
    bool has_latency_mode() const { return multi_threaded_ != nullptr; }
    /// Bytes of all contexts, once warm, or of keys and values of all sequences.
    std::size_t buffer_bytes() const { return sequences_ ? sequences_->bytes() : buffer_bytes_; }
    std::size_t weight_bytes() const { return weight_bytes_; }

    bool has_sequences() const { return sequences_ != nullptr; }
    /// Frees the sequence of a request whose client has left.
    void cancel_sequence(const job &j) {
        if (sequences_ && j.sequence.id != 0)
            sequences_->cancel(j.sequence.id);
    }

    /// Dimensions of an input of one request that are not the model's; sets rows and the text of shapes of the job.
    /// Throws refusal.
    void set_shapes(job &j, const std::vector<memory::dims> &shapes) const;

    void run(const std::vector<std::shared_ptr<job>> &batch, bool is_alone) override;
    void ran(const std::vector<std::shared_ptr<job>> &batch, double seconds) override;

    std::shared_ptr<job_queue> queue; ///< the queue of its jobs, set by the repository
    void set_metrics(std::shared_ptr<model_metrics> m) { metrics_ = std::move(m); }
    model_metrics *metrics() const { return metrics_.get(); }

private:
    /// A context with the addresses of its tensors.
    struct bound_context {
        bound_context(network n, std::unique_ptr<open_sizes::share> r);
        network net;
        std::unique_ptr<open_sizes::share> room; ///< null for sizes that requests do not choose
        std::vector<std::byte *> inputs, outputs;
        std::vector<std::size_t> output_bytes;
    };
    /// An instance runs one batch at a time: contexts by their sizes, the last ones used first.
    struct instance {
        const network *made_of = nullptr;
        std::vector<std::pair<std::string, std::unique_ptr<bound_context>>> contexts;
    };

    class inputs_in_place;

    served_model() = default;
    void drop_idle_plans() override;
    network context_for(const instance &i, const std::string &shapes, std::int64_t rows) const;
    static std::unique_ptr<open_sizes::share> room_for(instance &i, std::size_t bytes);
    bound_context &bound_context_for(instance &i, const std::string &shapes, std::int64_t rows) const;
    std::int64_t size_for(std::int64_t rows) const;
    void run_in(bound_context &p, const std::vector<std::shared_ptr<job>> &batch, std::int64_t size) const;
    tensor_info describe(const tensor_view &view, const model::graph &g, int index,
                         const model_config &config) const;
    void describe(const model::graph &g, const model_config &config);
    void describe_sequences(const model_config &config);
    void fill_inputs(bound_context &p, std::int64_t rows, std::uint32_t seed) const;
    void find_integer_to_warm(bound_context &one, std::int64_t rows);
    void warm(const model::graph &g, const model_config &config, int workers,
              const std::function<bool()> &stop, const model_findings *known);
    void find_sizes(const model_config &config, const std::function<bool()> &stop);
    void check_sizes();
    void use_all_cores(const model::graph &g, int workers, bool is_known);
    std::vector<std::int64_t> measured_sizes(std::int64_t most, const std::function<bool()> &stop);
    bool rows_are_independent(std::int64_t size);
    double best_time(bound_context &p) const;

    std::string name_, version_, framework_, unbatchable_because_;
    std::vector<tensor_info> inputs_, outputs_;
    std::optional<bool> rows_alike_;
    bool has_state_ = false, could_batch_ = false; ///< by the operators, before anything ran
    std::int32_t integer_to_warm_ = 0;             ///< all integers of inputs, until requests come
    std::int64_t most_rows_ = 1;
    std::size_t buffer_bytes_ = 0, weight_bytes_ = 0;
    queue_options queue_options_;
    std::unique_ptr<served_sequences> sequences_; ///< of a model with a past, which has nothing else of below
    std::unique_ptr<network> single_threaded_,
        multi_threaded_; ///< the latter on all threads; null where it is not faster
    std::mutex mutex_;   ///< guards the members below
    std::vector<std::unique_ptr<instance>> free_;
    std::unique_ptr<instance> free_multi_threaded_;
    std::shared_ptr<model_metrics> metrics_;
};

} // namespace octet::serve
