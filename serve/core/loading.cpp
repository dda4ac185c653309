// Making a model of a file: network, tensors as clients see them, sizes of batches, and contexts that are warm.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "core/model.hpp"
#include "core/usable_memory.hpp"

namespace octet::serve {
namespace {

constexpr double most_measuring_seconds = 1, most_warming_seconds = 2;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

void stop_if_asked(const std::function<bool()> &stop) {
    if (stop && stop())
        throw error(status::runtime_error, "stopped");
}

/// Returns the default limit for a network whose sizes a request chooses: instances share a quarter of the
/// memory, and weights, which they share, come on top.
std::size_t limit_of_open_sizes(const model_source &source, int instances) {
    std::error_code ignored;
    const std::uintmax_t file =
        source.path.empty() ? source.bytes.size() : std::filesystem::file_size(source.path, ignored);
    return 2 * static_cast<std::size_t>(file) + usable_memory() / 4 / static_cast<std::size_t>(instances);
}

/// Sizes to load and warm up a network with, where the file leaves them open and config.json tells none;
/// requests choose their own. One size for all, the first that every operator can have.
std::map<std::string, dim_t> usual_sizes(const model::graph &g) {
    for (const dim_t size : {16, 32, 64, 128, 256, 512, 1024, 224, 299, 320, 384, 640, 8, 4, 2, 1}) {
        std::map<std::string, dim_t> dimensions;
        for (const int t : g.inputs) {
            const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
            for (std::size_t d = 0; d < input.dims.size(); d++)
                if (input.dims[d] < 0)
                    dimensions[input.dim_names[d]] = size;
        }
        try {
            model::graph sized = g;
            model::set_sizes(sized, {0, {}, dimensions});
            return dimensions;
        } catch (const error &e) { // another one may fit
            if (e.status != status::invalid_arguments)
                throw;
        }
    }
    throw error(status::invalid_arguments,
                "an input has an open size, and none that was tried fits all operators: \"dimensions\" or "
                "\"shapes\" of config.json give the usual one");
}

/// Floats from 0 to 1, codes, and one integer for all: values that most networks take.
void fill(std::byte *bytes, std::size_t size, data_type type, std::int32_t integer,
          std::minstd_rand &random) {
    if (type == data_type::f32) {
        std::uniform_real_distribution<float> uniform(0, 1);
        for (std::size_t i = 0; i < size / 4; i++) {
            const float value = uniform(random);
            std::memcpy(bytes + 4 * i, &value, 4);
        }
    } else if (type == data_type::s8 || type == data_type::u8) {
        for (std::size_t i = 0; i < size; i++)
            bytes[i] = static_cast<std::byte>(random() >> 7);
    } else {
        for (std::size_t i = 0; i < size / sizeof(integer); i++)
            std::memcpy(bytes + sizeof(integer) * i, &integer, sizeof(integer));
    }
}

/// Whether some input has a dimension of which this holds.
template <typename Condition> bool any_dimension(const model::graph &g, const Condition &holds) {
    return std::any_of(g.inputs.begin(), g.inputs.end(), [&](int t) {
        const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
        for (std::size_t d = 0; d < input.dims.size(); d++)
            if (holds(input, d))
                return true;
        return false;
    });
}

} // namespace

std::shared_ptr<served_model> served_model::load(const model_source &source, const model_config &config,
                                                 int workers, const std::function<bool()> &stop,
                                                 const model_findings *known) {
    const auto m = std::shared_ptr<served_model>(new served_model);
    m->name_ = source.name;
    m->version_ = source.version;
    const model::graph g = read_model(source, config.sha256);
    m->framework_ = g.saved ? "plan" : g.framework;
    network_options options = config.network;
    options.rows_alike = config.rows_alike.value_or(true);
    m->unbatchable_because_ = config.most_rows == 1 ? "max_batch_size is 1"
                              : g.framework == "onnx" && !options.rows_alike
                                  ? "rows_alike is false"
                                  : model::why_not_batched(g, options.profile);
    m->queue_options_ = config.queue;
    options.threads = config.threads > 0 ? config.threads : workers;
    m->sequences_ = served_sequences::make(g, config, options);
    if (m->sequences_) {
        m->describe_sequences(config);
        return m;
    }
    options.threads = std::max(config.threads, 1);
    const bool is_open =
        any_dimension(g, [](const model::tensor &t, std::size_t d) { return t.dims[d] < 0; });
    // Open sizes that are 1 in the graph have names.
    const bool has_names = any_dimension(g, [](const model::tensor &t, std::size_t d) {
        return d < t.dim_names.size() && !t.dim_names[d].empty();
    });
    if (is_open && options.dimensions.empty() && options.shapes.empty())
        options.dimensions = usual_sizes(g);
    const bool has_open_sizes = is_open || (has_names && !m->is_batching());
    if (has_open_sizes && options.memory_limit == 0)
        options.memory_limit = limit_of_open_sizes(source, config.instances > 0 ? config.instances : workers);
    m->single_threaded_ = std::make_unique<network>(g, options);
    if (g.framework == "onnx")
        m->rows_alike_ = m->single_threaded_->options().rows_alike;
    m->most_rows_ = config.most_rows;
    if (has_open_sizes)
        open_sizes::of_process().add(m.get(), options.memory_limit);
    m->describe(g, config);
    m->could_batch_ = m->is_batching();
    m->warm(g, config, workers, stop, known);
    return m;
}

served_model::~served_model() { open_sizes::of_process().remove(this); }

tensor_info served_model::describe(const tensor_view &view, const model::graph &g, int index,
                                   const model_config &config) const {
    tensor_info t;
    t.name = view.name();
    t.own = t.announced = find_datatype(view.data_type());
    if (!t.own)
        throw error(status::unimplemented, "tensor " + view.text() + ": the protocol has no such type");
    t.framework = g.framework;
    t.quantization = view.quantization();
    const datatype *declared = find_datatype(g.tensors[static_cast<std::size_t>(index)].foreign_type);
    if (declared && t.can_be(*declared))
        t.announced = declared;
    if (const auto chosen = config.datatypes.find(t.name); chosen != config.datatypes.end()) {
        t.announced = chosen->second;
        if (!t.can_be(*t.announced))
            throw error(status::invalid_arguments, "config.json: \"datatypes\": tensor '" + t.name + "' is " +
                                                       t.own->name + ", it can be " + t.choices());
    }
    t.dims = view.dims();
    t.is_open.resize(t.dims.size());
    if (is_batching())
        t.is_open[0] = true;
    t.bytes = model::element_count(t.dims) / (is_batching() ? t.dims[0] : 1) *
              static_cast<std::int64_t>(t.own->size);
    return t;
}

/// Tokens are its only input. A step takes whatever waits, at most a job of each sequence.
void served_model::describe_sequences(const model_config &config) {
    unbatchable_because_ = "it has a past: sequences run together, a request has one";
    rows_alike_ = true;
    const auto tensor = [&](const char *name, const char *type, data_type own, const memory::dims &dims) {
        tensor_info t;
        t.name = name;
        t.own = find_datatype(own);
        t.announced = find_datatype(type);
        t.framework = framework_;
        t.dims = dims;
        t.is_open.resize(dims.size());
        t.is_open[1] = true;
        return t;
    };
    inputs_ = {tensor("input_ids", "INT64", data_type::s32, {1, 1})};
    outputs_ = {tensor("logits", "FP32", data_type::f32, {1, 1, sequences_->vocabulary()})};
    queue_options_.instances = 1;
    queue_options_.sizes.clear();
    for (std::size_t size = 1; size <= std::min<std::size_t>(config.sequences.most, 64); size++)
        queue_options_.sizes.push_back(static_cast<std::int64_t>(size));
    queue_options_.seconds_per_row = sequences_->seconds_per_step();
    weight_bytes_ = sequences_->weight_bytes();
}

void served_model::describe(const model::graph &g, const model_config &config) {
    for (const model::tensor &t : g.tensors)
        has_state_ |= t.is_variable;
    bool some_open = false;
    for (std::size_t i = 0; i < single_threaded_->input_count(); i++) {
        inputs_.push_back(describe(single_threaded_->input(i), g, g.inputs[i], config));
        const auto &names = g.tensors[static_cast<std::size_t>(g.inputs[i])].dim_names;
        std::vector<bool> &is_open = inputs_.back().is_open;
        for (std::size_t d = 0; !is_batching() && d < std::min(names.size(), is_open.size()); d++)
            some_open |= is_open[d] = !names[d].empty();
    }
    for (std::size_t i = 0; i < single_threaded_->output_count(); i++) {
        outputs_.push_back(describe(single_threaded_->output(i), g, g.outputs[i], config));
        if (some_open) // whatever follows from the open sizes
            outputs_.back().is_open.assign(outputs_.back().dims.size(), true);
    }
    std::vector<std::string> names;
    for (const auto *list : {&inputs_, &outputs_}) {
        for (std::size_t i = 0; i < list->size(); i++)
            for (std::size_t k = 0; k < i; k++)
                if ((*list)[i].name == (*list)[k].name)
                    throw error(status::invalid_arguments, "two tensors are called '" + (*list)[i].name +
                                                               "', requests could not tell them apart");
        for (const tensor_info &t : *list)
            names.push_back(t.name);
    }
    for (const auto &[name, type] : config.datatypes)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw error(status::invalid_arguments,
                        "config.json: \"datatypes\": the model has no input or output '" + name + "'");
}

// ---- Warming

double served_model::best_time(bound_context &p) const {
    double best = 1e9;
    const auto begin = clock::now();
    for (int r = 0; r < 50 && (r == 0 || seconds_since(begin) < (r == 1 ? 0.25 : 0.02)); r++) {
        const auto start = clock::now();
        p.net.run();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

/// Doubles the batch until a row gets no cheaper by it, twice in a row (a machine that is busy measures
/// badly), or until that would take too long.
std::vector<std::int64_t> served_model::measured_sizes(std::int64_t most, const std::function<bool()> &stop) {
    constexpr double worth = 0.95;
    std::vector<std::int64_t> sizes = {1};
    double best = best_time(bound_context_for(*free_.front(), "", 1));
    int in_vain = 0;
    const auto begin = clock::now();
    for (std::int64_t size = 2; size <= most && in_vain < 2; size *= 2) {
        stop_if_asked(stop);
        if (seconds_since(begin) + 2 * best * static_cast<double>(size) > most_measuring_seconds)
            break;
        const double row = best_time(bound_context_for(*free_.front(), "", size)) / static_cast<double>(size);
        if (row > best * worth) {
            in_vain++;
            continue;
        }
        in_vain = 0;
        best = row;
        sizes.push_back(size);
    }
    return sizes;
}

/// The witness of `model::why_not_batched`: different rows together and each by itself.
bool served_model::rows_are_independent(std::int64_t size) {
    bound_context &together = bound_context_for(*free_.front(), "", size);
    fill_inputs(together, size, static_cast<std::uint32_t>(size));
    together.net.run();
    bound_context &alone = bound_context_for(*free_.front(), "", 1);
    for (std::int64_t row : std::set<std::int64_t>{0, size / 2, size - 1}) {
        const auto at = static_cast<std::size_t>(row);
        for (std::size_t i = 0; i < inputs_.size(); i++)
            std::memcpy(alone.inputs[i], together.inputs[i] + at * inputs_[i].bytes, inputs_[i].bytes);
        alone.net.run();
        for (std::size_t i = 0; i < outputs_.size(); i++)
            if (std::memcmp(alone.outputs[i], together.outputs[i] + at * outputs_[i].bytes,
                            outputs_[i].bytes) != 0)
                return false;
    }
    return true;
}

/// Rows of a network that is slow are compared in the smallest batch, and where nothing says that larger ones
/// pay, none is measured.
void served_model::find_sizes(const model_config &config, const std::function<bool()> &stop) {
    constexpr double slow = 0.1;
    try {
        const std::int64_t largest = config.sizes.empty() ? most_rows_ : config.sizes.back();
        if (!rows_are_independent(
                std::min<std::int64_t>(largest, queue_options_.seconds_per_row > slow ? 2 : 3)))
            unbatchable_because_ = "a batch of it gave other bytes than its rows alone";
        else
            queue_options_.sizes = config.sizes.empty() ? measured_sizes(most_rows_, stop) : config.sizes;
    } catch (const error &e) {
        if (e.status == status::runtime_error)
            throw;
        unbatchable_because_ = e.what(); // the network cannot have another batch
    }
}

/// A second witness, of every size.
void served_model::check_sizes() {
    for (const std::int64_t size : queue_options_.sizes)
        if (size > 1 && !rows_are_independent(size))
            throw error(status::runtime_error, "a batch of " + std::to_string(size) +
                                                   " gave other bytes than its rows alone, please report it");
}

/// Worth a second set of weights only where it is clearly faster.
void served_model::use_all_cores(const model::graph &g, int workers, bool is_known) {
    network_options options = single_threaded_->options();
    options.threads = workers;
    multi_threaded_ = std::make_unique<network>(g, options);
    free_multi_threaded_ = std::make_unique<instance>();
    free_multi_threaded_->made_of = multi_threaded_.get();
    bound_context &one = bound_context_for(*free_multi_threaded_, "", 1);
    fill_inputs(one, 1, 1);
    if (!is_known && best_time(one) * 1.3 > queue_options_.seconds_per_row) {
        free_multi_threaded_.reset();
        multi_threaded_.reset();
    }
}

void served_model::fill_inputs(bound_context &p, std::int64_t rows, std::uint32_t seed) const {
    std::minstd_rand random(seed);
    for (std::size_t i = 0; i < inputs_.size(); i++)
        fill(p.inputs[i], inputs_[i].bytes * static_cast<std::size_t>(rows), inputs_[i].own->type,
             integer_to_warm_, random);
}

/// Any network of tokens takes token 0, but a decoder's mask has to count one key at least.
void served_model::find_integer_to_warm(bound_context &one, std::int64_t rows) {
    for (;; integer_to_warm_++) {
        fill_inputs(one, rows, 1);
        try {
            return one.net.run();
        } catch (const error &e) {
            if (e.status != status::invalid_arguments || integer_to_warm_ == 1)
                throw;
        }
    }
}

void served_model::warm(const model::graph &g, const model_config &config, int workers,
                        const std::function<bool()> &stop, const model_findings *known) {
    queue_options_.instances = config.instances > 0 ? config.instances : workers;
    for (int i = 0; i < queue_options_.instances; i++) {
        free_.push_back(std::make_unique<instance>());
        free_.back()->made_of = single_threaded_.get();
    }
    bound_context &one = bound_context_for(*free_.front(), "", 1);
    find_integer_to_warm(one, inputs_.empty() || !is_batching() ? 1 : inputs_[0].dims[0]);
    const double measured = best_time(one);
    queue_options_.seconds_per_row = known ? known->seconds_per_row : measured;
    if (known) {
        queue_options_.sizes = known->sizes;
        unbatchable_because_ = known->unbatchable_because;
    } else if (is_batching()) {
        find_sizes(config, stop);
    }
    if (is_batching() && !(known && known->is_checked))
        check_sizes();
    if (!is_batching()) {
        queue_options_.sizes = {1};
        if (could_batch_)
            for (auto *list : {&inputs_, &outputs_})
                for (tensor_info &t : *list)
                    t.is_open[0] = false; // one row
    }
    const auto begin = clock::now();
    for (const auto &i : free_)
        for (const std::int64_t size : queue_options_.sizes) {
            stop_if_asked(stop);
            bound_context &p = bound_context_for(*i, "", size);
            fill_inputs(p, size, 1);
            if (seconds_since(begin) < most_warming_seconds)
                p.net.run();
        }
    for (const auto &i : free_)
        for (const auto &[key, p] : i->contexts)
            buffer_bytes_ += p->net.buffer_bytes().first;
    constexpr double least_worth_sharing = 2e-4;
    const bool may_be_multi_threaded =
        known ? known->is_multi_threaded : queue_options_.seconds_per_row >= least_worth_sharing;
    if (may_be_multi_threaded && config.threads == 0 && workers > 1)
        use_all_cores(g, workers, known != nullptr);
    weight_bytes_ =
        single_threaded_->weight_bytes() + (multi_threaded_ ? multi_threaded_->weight_bytes() : 0);
}

} // namespace octet::serve
