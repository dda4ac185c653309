// octet/octet.h on octet/network.hpp: handles hold the objects of C++, functions check their pointers and forward.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>

#include "network/c/guard.hpp"
#include "octet/network.hpp"
#include "octet/profile.hpp"

using namespace octet;
using c::guarded;
using c::need;

struct octet_options {
    network_options value;
};

/// Looks its tensor up at each use, so that it stays valid when sizes change.
struct octet_tensor {
    const network *owner;
    bool is_input;
    std::size_t index;
    std::string name;

    tensor_view view() const { return is_input ? owner->input(index) : owner->output(index); }
};

struct octet_network {
    explicit octet_network(network made) : net(std::move(made)) {
        for (std::size_t i = 0; i < net.input_count(); i++)
            inputs.push_back({&net, true, i, net.input(i).name()});
        for (std::size_t i = 0; i < net.output_count(); i++)
            outputs.push_back({&net, false, i, net.output(i).name()});
    }

    network net;
    std::deque<octet_tensor> inputs, outputs; // handed out by address
};

namespace {

constexpr int most_threads = 4096; // as num_threads_scope allows

static_assert(OCTET_MAX_DIMS >= max_ndims, "dimensions have to fit");

const network_options &value_of(const octet_options *options) {
    static const network_options defaults;
    return options ? options->value : defaults;
}

octet_tensor &at(std::deque<octet_tensor> &tensors, std::size_t index, const char *kind) {
    if (index >= tensors.size())
        throw error(status::invalid_arguments, std::string(kind) + " " + std::to_string(index) +
                                                   " of a network with " + std::to_string(tensors.size()));
    return tensors[index];
}

octet_tensor &called(std::deque<octet_tensor> &tensors, const std::string &name, const char *kind) {
    std::string names;
    for (octet_tensor &t : tensors) {
        if (t.name == name)
            return t;
        names += (names.empty() ? "" : ", ") + t.name;
    }
    throw error(status::invalid_arguments,
                "no " + std::string(kind) + " is called '" + name + "', there are: " + names);
}

/// Copies that must have exactly the tensor's size.
void need_size(std::size_t given, std::size_t expected, const char *unit) {
    if (given != expected)
        throw error(status::invalid_arguments, "given are " + std::to_string(given) + " " + unit +
                                                   ", the tensor has " + std::to_string(expected));
}

std::string text_of(const char *text, const char *argument) {
    need(text, argument);
    return text;
}

} // namespace

// ---- The library

const char *octet_version() { return version(); }
int octet_numerics_version() { return numerics_version(); }
const char *octet_machine_cpu_isa() { return to_string(get_machine_cpu_isa()); }
const char *octet_cpu_isa() { return to_string(get_effective_cpu_isa()); }

octet_status octet_set_max_cpu_isa(const char *name) {
    return guarded(__func__, [&] { set_max_cpu_isa(cpu_isa_from_string(text_of(name, "name"))); });
}

octet_status octet_threads(int *threads) {
    return guarded(__func__, [&] {
        need(threads, "threads");
        *threads = get_num_threads();
    });
}

octet_status octet_set_threads(int threads) {
    return guarded(__func__, [&] { set_num_threads(threads); });
}

// ---- Options

octet_status octet_options_create(octet_options **options) {
    return guarded(__func__, [&] {
        need(options, "options");
        *options = new octet_options();
    });
}

void octet_options_destroy(octet_options *options) { delete options; }

octet_status octet_options_set_batch(octet_options *options, std::int64_t batch) {
    return guarded(__func__, [&] {
        need(options, "options");
        if (batch < 0)
            throw error(status::invalid_arguments,
                        "batch is " + std::to_string(batch) + ", allowed: 0 (as in the file) and more");
        options->value.batch = batch;
    });
}

octet_status octet_options_set_rule(octet_options *options, const char *rule) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.rule = requantization_rule_from_string(text_of(rule, "rule").c_str());
    });
}

octet_status octet_options_set_profile(octet_options *options, const char *profile) {
    return guarded(__func__, [&] {
        need(options, "options");
        const std::string name = text_of(profile, "profile");
        if (!name.empty())
            find_profile(name); // with its substitutes
        options->value.profile = name;
    });
}

octet_status octet_options_set_fusion(octet_options *options, int fusion) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.fusion = fusion != 0;
    });
}

octet_status octet_options_set_rows_alike(octet_options *options, int rows_alike) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.rows_alike = rows_alike != 0;
    });
}

octet_status octet_options_set_nbits(octet_options *options, const char *nbits) {
    return guarded(__func__, [&] {
        need(options, "options");
        const std::string name = text_of(nbits, "nbits");
        if (name != "onnxruntime" && name != "ordered")
            throw error(status::invalid_arguments, "nbits is '" + name + "', allowed: onnxruntime, ordered");
        options->value.nbits = name;
    });
}

octet_status octet_options_set_threads(octet_options *options, int threads) {
    return guarded(__func__, [&] {
        need(options, "options");
        if (threads < 0 || threads > most_threads)
            throw error(status::invalid_arguments, "threads is " + std::to_string(threads) +
                                                       ", allowed: 0 (as the process) to " +
                                                       std::to_string(most_threads));
        options->value.threads = threads;
    });
}

octet_status octet_options_set_shape(octet_options *options, const char *input, const std::int64_t *dims,
                                     std::size_t count) {
    return guarded(__func__, [&] {
        need({{options, "options"}, {dims, "dims"}});
        if (count > OCTET_MAX_DIMS)
            throw error(status::invalid_arguments, "count is " + std::to_string(count) + ", allowed: up to " +
                                                       std::to_string(OCTET_MAX_DIMS));
        options->value.shapes[text_of(input, "input")] = memory::dims(dims, dims + count);
    });
}

octet_status octet_options_set_dimension(octet_options *options, const char *name, std::int64_t size) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.dimensions[text_of(name, "name")] = size;
    });
}

octet_status octet_options_set_memory_limit(octet_options *options, std::size_t bytes) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.memory_limit = bytes;
    });
}

octet_status octet_options_set_progress(octet_options *options, octet_progress function, void *context) {
    return guarded(__func__, [&] {
        need(options, "options");
        options->value.progress = nullptr;
        if (function)
            options->value.progress = [=](double done, const std::string &next) {
                function(context, done, next.c_str());
            };
    });
}

// ---- Networks

octet_status octet_network_create(octet_network **net, const char *path, const octet_options *options) {
    return guarded(__func__, [&] {
        need(net, "network");
        *net = new octet_network(network(text_of(path, "path"), value_of(options)));
    });
}

octet_status octet_network_create_from_memory(octet_network **net, const void *bytes, std::size_t size,
                                              const char *name, const octet_options *options) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {bytes, "bytes"}});
        *net = new octet_network(network(bytes, size, text_of(name, "name"), value_of(options)));
    });
}

octet_status octet_network_new_context(octet_network **context, const octet_network *net) {
    return guarded(__func__, [&] {
        need({{context, "context"}, {net, "network"}});
        *context = new octet_network(net->net.new_context());
    });
}

void octet_network_destroy(octet_network *net) { delete net; }

octet_status octet_network_run(octet_network *net) {
    return guarded(__func__, [&] {
        need(net, "network");
        net->net.run();
    });
}

octet_status octet_network_reset_state(octet_network *net) {
    return guarded(__func__, [&] {
        need(net, "network");
        net->net.reset_state();
    });
}

octet_status octet_network_resize(octet_network *net, const octet_options *sizes) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {sizes, "sizes"}});
        net->net.resize({sizes->value.batch, sizes->value.shapes, sizes->value.dimensions});
    });
}

octet_status octet_network_bind_input(octet_network *net, std::size_t index, const void *bytes,
                                      std::size_t size) {
    return guarded(__func__, [&] {
        need(net, "network");
        net->net.bind_input(index, bytes, size);
    });
}

octet_status octet_network_bind_output(octet_network *net, std::size_t index, void *bytes, std::size_t size) {
    return guarded(__func__, [&] {
        need(net, "network");
        net->net.bind_output(index, bytes, size);
    });
}

octet_status octet_network_save(const octet_network *net, const char *path) {
    return guarded(__func__, [&] {
        need(net, "network");
        net->net.save(text_of(path, "path"));
    });
}

octet_status octet_refused_nodes(const char *path, const octet_options *options, octet_refused_node function,
                                 void *context) {
    return guarded(__func__, [&] {
        const std::string file = text_of(path, "path");
        if (!function)
            throw error(status::invalid_arguments, "function is a null pointer");
        for (const refused_node &n : refused_nodes(file, value_of(options)))
            function(context, n.number, n.reason.c_str(), n.is_certain ? 1 : 0);
    });
}

octet_status octet_network_input_count(const octet_network *net, std::size_t *count) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {count, "count"}});
        *count = net->inputs.size();
    });
}

octet_status octet_network_output_count(const octet_network *net, std::size_t *count) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {count, "count"}});
        *count = net->outputs.size();
    });
}

octet_status octet_network_input(octet_network *net, std::size_t index, octet_tensor **tensor) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {tensor, "tensor"}});
        *tensor = &at(net->inputs, index, "input");
    });
}

octet_status octet_network_output(octet_network *net, std::size_t index, octet_tensor **tensor) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {tensor, "tensor"}});
        *tensor = &at(net->outputs, index, "output");
    });
}

octet_status octet_network_input_by_name(octet_network *net, const char *name, octet_tensor **tensor) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {tensor, "tensor"}});
        *tensor = &called(net->inputs, text_of(name, "name"), "input");
    });
}

octet_status octet_network_output_by_name(octet_network *net, const char *name, octet_tensor **tensor) {
    return guarded(__func__, [&] {
        need({{net, "network"}, {tensor, "tensor"}});
        *tensor = &called(net->outputs, text_of(name, "name"), "output");
    });
}

// ---- Tensors

octet_status octet_tensor_name(const octet_tensor *tensor, const char **name) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {name, "name"}});
        *name = tensor->name.c_str();
    });
}

octet_status octet_tensor_type(const octet_tensor *tensor, octet_data_type *type) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {type, "type"}});
        *type = static_cast<octet_data_type>(tensor->view().data_type());
    });
}

octet_status octet_tensor_dims(const octet_tensor *tensor, std::int64_t *dims, std::size_t *count) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {dims, "dims"}, {count, "count"}});
        const memory::dims d = tensor->view().dims();
        std::copy(d.begin(), d.end(), dims);
        *count = d.size();
    });
}

octet_status octet_tensor_element_count(const octet_tensor *tensor, std::size_t *count) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {count, "count"}});
        *count = tensor->view().element_count();
    });
}

octet_status octet_tensor_byte_size(const octet_tensor *tensor, std::size_t *size) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {size, "size"}});
        *size = tensor->view().size_in_bytes();
    });
}

octet_status octet_tensor_resize(octet_tensor *tensor, const std::int64_t *dims, std::size_t count) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {dims, "dims"}});
        if (count > OCTET_MAX_DIMS)
            throw error(status::invalid_arguments, "count is " + std::to_string(count) + ", allowed: up to " +
                                                       std::to_string(OCTET_MAX_DIMS));
        tensor->view().resize(memory::dims(dims, dims + count));
    });
}

octet_status octet_tensor_quantization(const octet_tensor *tensor, float *scale, std::int32_t *zero_point) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {scale, "scale"}, {zero_point, "zero_point"}});
        const model::quantization &q = tensor->view().quantization();
        if (q.scales.size() > 1)
            throw error(status::invalid_arguments,
                        "the tensor has " + std::to_string(q.scales.size()) + " scales, allowed is one");
        *scale = q.is_set() ? q.scales[0] : 0.f;
        *zero_point = q.is_set() ? q.zero_points[0] : 0;
    });
}

octet_status octet_tensor_data(octet_tensor *tensor, void **data) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {data, "data"}});
        *data = tensor->view().data();
    });
}

octet_status octet_tensor_copy_from(octet_tensor *tensor, const void *bytes, std::size_t size) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {bytes, "bytes"}});
        tensor->view().copy_bytes_from(bytes, size);
    });
}

octet_status octet_tensor_copy_to(const octet_tensor *tensor, void *bytes, std::size_t size) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {bytes, "bytes"}});
        const tensor_view view = tensor->view();
        need_size(size, view.size_in_bytes(), "bytes");
        std::memcpy(bytes, view.data(), size);
    });
}

octet_status octet_tensor_copy_from_float(octet_tensor *tensor, const float *values, std::size_t count) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {values, "values"}});
        tensor->view().copy_from(values, count);
    });
}

octet_status octet_tensor_copy_to_float(const octet_tensor *tensor, float *values, std::size_t count) {
    return guarded(__func__, [&] {
        need({{tensor, "tensor"}, {values, "values"}});
        const tensor_view view = tensor->view();
        need_size(count, view.element_count(), "numbers");
        const std::vector<float> reals = view.as<float>();
        std::copy(reals.begin(), reals.end(), values);
    });
}
