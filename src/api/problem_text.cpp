// Problems as text, and back. The two directions stand side by side, because each token that one writes the other
// must read: operation, tensors, the operation's parameters, attributes (attributes/text.cpp). Commas do not
// occur, so that the whole is one field of a verbose line.
// SPDX-License-Identifier: Apache-2.0
#include "octet/problem.hpp"

#include <algorithm>

#include "api/attributes/text.hpp"
#include "api/normalization.hpp"
#include "api/primitive_desc.hpp"
#include "api/tensors/format_tag.hpp"
#include "common/names.hpp"
#include "common/tokens.hpp"
#include "octet/octet.hpp"

namespace octet {

namespace impl {

namespace {

bool is_one_of(const std::string &name, std::initializer_list<const char *> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// How users spell the layout of a tensor in this place.
spelling spelling_of(const primitive_description &data, int arg, const memory_desc &md) {
    const bool has_channels = is_one_of(data.operation, {"convolution", "deconvolution", "inner_product",
                                                         "pooling", "resampling", "batch_normalization"});
    if (data.operation == "matmul" || data.operation == "reorder")
        return spelling::letters;
    if (arg == OCTET_ARG_WEIGHTS && has_channels)
        return md.ndims > data.args.at(OCTET_ARG_SRC).data.ndims ? spelling::grouped_weights
                                                                 : spelling::weights;
    return has_channels || md.ndims >= 3 || arg == OCTET_ARG_BIAS ? spelling::activations : spelling::letters;
}

} // namespace

std::string problem_text(const primitive_description &data) {
    std::string s = data.operation;
    const auto add_tensor = [&](int arg) {
        const auto found = data.args.find(arg);
        if (found != data.args.end())
            s += text(" ", argument_name(arg), ":",
                      tensor_text(found->second.data, spelling_of(data, arg, found->second.data)));
    };
    add_tensor(OCTET_ARG_SRC);
    add_tensor(OCTET_ARG_SRC_1);
    for (int arg = OCTET_ARG_MULTIPLE_SRC; data.args.count(arg); arg++)
        add_tensor(arg);
    const bool is_normalization = is_one_of(data.operation, {"batch_normalization", "layer_normalization"});
    if (!is_normalization) // whose flags tell of scales and shifts
        add_tensor(OCTET_ARG_WEIGHTS);
    for (const int arg : {OCTET_ARG_BIAS, OCTET_ARG_DST})
        add_tensor(arg);
    for (const std::string &part : {data.parameters, attribute_text(data.attr)})
        s += part.empty() ? "" : " " + part;
    return s;
}

namespace {

/// The tokens of a problem, sorted by what they are.
class problem_reader {
public:
    problem_reader(const std::string &problem, const engine &e, bool allow_empty);
    primitive_desc make() const;

private:
    bool is_numbered() const { return operation_ == "sum" || operation_ == "concat"; }
    bool has(const std::string &name) const { return tensors_.count(name) != 0; }
    /// A tensor that the operation needs, or may have.
    memory::desc tensor(const std::string &name) const;
    memory::desc optional(const std::string &name) const {
        return has(name) ? tensors_.at(name) : memory::desc();
    }
    std::vector<memory::desc> sources() const;

    std::string parameter(const std::string &name, const std::string &otherwise) const {
        const auto found = parameters_.find(name);
        return found == parameters_.end() ? otherwise : found->second;
    }
    template <typename Enum> Enum named(const std::string &name, const char *otherwise) const;
    /// A list with a number per spatial dimension of src.
    memory::dims list(const std::string &name, dim_t otherwise) const;
    /// Given, or what the other numbers leave: windows slide over `image` and stop `positions` times.
    memory::dims padding_r(const memory::desc &image, const memory::desc &positions,
                           const memory::dims &kernel, const memory::dims &dilates) const;

    primitive_desc make_convolution() const;
    primitive_desc make_deconvolution() const;
    primitive_desc make_inner_product() const;
    primitive_desc make_matmul() const;
    primitive_desc make_reorder() const;
    primitive_desc make_pooling() const;
    primitive_desc make_eltwise() const;
    primitive_desc make_binary() const;
    primitive_desc make_softmax() const;
    primitive_desc make_resampling() const;
    primitive_desc make_sum() const;
    primitive_desc make_concat() const;
    primitive_desc make_prelu() const;
    prop_kind normalization_prop() const;
    primitive_desc make_batch_normalization() const;
    primitive_desc make_layer_normalization() const;
    primitive_desc make_reduction() const;

    struct operation_reader {
        const char *name;
        std::vector<const char *> parameters;
        primitive_desc (problem_reader::*make)() const;
    };
    static const std::vector<operation_reader> &operations();
    static const operation_reader &reader_of(const std::string &operation);

    std::string operation_;
    std::map<std::string, memory::desc> tensors_;
    std::map<std::string, std::string> parameters_;
    primitive_attr attr_;
    engine engine_;
    bool allow_empty_;
};

constexpr prop_kind forward = prop_kind::forward_inference;

const std::vector<problem_reader::operation_reader> &problem_reader::operations() {
    using p = problem_reader;
    static const std::vector<operation_reader> all{
        {"convolution", {"strides", "dilates", "padding_l", "padding_r"}, &p::make_convolution},
        {"deconvolution", {"strides", "dilates", "padding_l", "padding_r"}, &p::make_deconvolution},
        {"inner_product", {}, &p::make_inner_product},
        {"matmul", {}, &p::make_matmul},
        {"reorder", {}, &p::make_reorder},
        {"pooling",
         {"algorithm", "kernel", "strides", "dilation", "padding_l", "padding_r"},
         &p::make_pooling},
        {"eltwise", {"algorithm", "alpha", "beta"}, &p::make_eltwise},
        {"binary", {"algorithm"}, &p::make_binary},
        {"softmax", {"algorithm", "axis"}, &p::make_softmax},
        {"resampling", {"algorithm", "coordinates"}, &p::make_resampling},
        {"sum", {"factors"}, &p::make_sum},
        {"concat", {"axis"}, &p::make_concat},
        {"prelu", {}, &p::make_prelu},
        {"batch_normalization", {"epsilon", "flags", "prop"}, &p::make_batch_normalization},
        {"layer_normalization", {"epsilon", "flags", "prop"}, &p::make_layer_normalization},
        {"reduction", {"algorithm", "p", "epsilon"}, &p::make_reduction},
    };
    return all;
}

const problem_reader::operation_reader &problem_reader::reader_of(const std::string &operation) {
    std::string names;
    for (const operation_reader &entry : operations()) {
        if (operation == entry.name)
            return entry;
        names += text(names.empty() ? "" : ", ", entry.name);
    }
    throw_invalid("problem: operation '", operation, "', allowed: ", names);
}

/// The problem's field of a line of verbose mode, or the text itself.
std::string problem_of(const std::string &given) {
    constexpr std::size_t field = 4; // octet_verbose,event,engine,implementation,problem
    const std::vector<std::string> fields = split(given, ',');
    return fields[0] == "octet_verbose" && fields.size() > field ? fields[field] : given;
}

problem_reader::problem_reader(const std::string &problem, const engine &e, bool allow_empty)
    : engine_(e), allow_empty_(allow_empty) {
    std::vector<std::string> tokens = split(problem_of(problem), ' ');
    tokens.erase(std::remove(tokens.begin(), tokens.end(), ""), tokens.end());
    if (tokens.empty())
        throw_invalid("problem: the text is empty, allowed: operation src:type:dims:layout …");
    operation_ = tokens[0];
    const operation_reader &reader = reader_of(operation_);
    std::vector<std::string> attributes;
    for (std::size_t i = 1; i < tokens.size(); i++) {
        const std::size_t colon = tokens[i].find(':');
        const std::string key = tokens[i].substr(0, colon);
        const std::string value = colon == std::string::npos ? "" : tokens[i].substr(colon + 1);
        const bool is_tensor = key.rfind("src", 0) == 0 || is_one_of(key, {"weights", "bias", "dst"});
        if (is_tensor) {
            argument_of(key, is_numbered()); // throws for another name
            tensors_[key] = tensor_from_text(value);
        } else if (std::find(reader.parameters.begin(), reader.parameters.end(), key) !=
                   reader.parameters.end()) {
            parameters_[key] = value;
        } else {
            attributes.push_back(tokens[i]);
        }
    }
    attr_ = attributes_from_text(attributes, is_numbered(),
                                 [this](const std::string &name) { return optional(name).data; });
}

primitive_desc problem_reader::make() const { return (this->*reader_of(operation_).make)(); }

memory::desc problem_reader::tensor(const std::string &name) const {
    if (!has(name))
        throw_invalid("problem: ", operation_, " needs ", name, ":type:dims:layout");
    return tensors_.at(name);
}

std::vector<memory::desc> problem_reader::sources() const {
    std::vector<memory::desc> srcs;
    for (std::size_t i = 0; has(text("src", i)); i++)
        srcs.push_back(tensors_.at(text("src", i)));
    return srcs;
}

template <typename Enum> Enum problem_reader::named(const std::string &name, const char *otherwise) const {
    const std::string given = parameter(name, otherwise);
    Enum value{};
    if (!from_name(given, value))
        throw_invalid("problem: ", name, " '", given, "' does not exist");
    return value;
}

memory::dims problem_reader::list(const std::string &name, dim_t otherwise) const {
    const std::string given = parameter(name, "");
    if (!given.empty())
        return numbers_of(given, 'x');
    return memory::dims(static_cast<std::size_t>(std::max(tensor("src").get_ndims() - 2, 0)), otherwise);
}

memory::dims problem_reader::padding_r(const memory::desc &image, const memory::desc &positions,
                                       const memory::dims &kernel, const memory::dims &dilates) const {
    const std::string given = parameter("padding_r", "");
    if (!given.empty())
        return numbers_of(given, 'x');
    const memory::dims strides = list("strides", 1), padding_l = list("padding_l", 0);
    memory::dims result;
    for (std::size_t i = 0;
         i < kernel.size() && i < strides.size() && i < dilates.size() && i < padding_l.size(); i++) {
        const std::size_t d = i + 2;
        if (d >= static_cast<std::size_t>(std::min(image.get_ndims(), positions.get_ndims())))
            break;
        __extension__ using wide = __int128; // numbers of a text may be anything
        const wide covered = (wide{kernel[i]} - 1) * (wide{dilates[i]} + 1) + 1;
        const wide needed =
            (wide{positions.data.dims[d]} - 1) * strides[i] + covered - image.data.dims[d] - padding_l[i];
        constexpr wide limit = wide{1} << 40; // the operation refuses less
        result.push_back(static_cast<dim_t>(std::clamp<wide>(needed, -limit, limit)));
    }
    return result;
}

/// Spatial sizes of a convolution's kernel.
memory::dims kernel_of(const memory::desc &src, const memory::desc &weights) {
    const memory::dims dims = weights.dims();
    const auto spatial = static_cast<std::size_t>(std::max(src.get_ndims() - 2, 0));
    return {dims.end() - static_cast<std::ptrdiff_t>(std::min(spatial, dims.size())), dims.end()};
}

primitive_desc problem_reader::make_convolution() const {
    const memory::desc src = tensor("src"), weights = tensor("weights"), dst = tensor("dst");
    const memory::dims dilates = list("dilates", 0);
    const convolution_forward::desc d(forward, algorithm::convolution_direct, src, weights, optional("bias"),
                                      dst, list("strides", 1), dilates, list("padding_l", 0),
                                      padding_r(src, dst, kernel_of(src, weights), dilates));
    return convolution_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_deconvolution() const {
    const memory::desc src = tensor("src"), weights = tensor("weights"), dst = tensor("dst");
    const memory::dims dilates = list("dilates", 0);
    const deconvolution_forward::desc d(
        forward, algorithm::deconvolution_direct, src, weights, optional("bias"), dst, list("strides", 1),
        dilates, list("padding_l", 0), padding_r(dst, src, kernel_of(src, weights), dilates));
    return deconvolution_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_inner_product() const {
    const inner_product_forward::desc d(forward, tensor("src"), tensor("weights"), optional("bias"),
                                        tensor("dst"));
    return inner_product_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_matmul() const {
    const matmul::desc d(tensor("src"), tensor("weights"), optional("bias"), tensor("dst"));
    return matmul::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_reorder() const {
    return reorder::primitive_desc(engine_, tensor("src"), engine_, tensor("dst"), attr_, allow_empty_);
}

primitive_desc problem_reader::make_pooling() const {
    const memory::desc src = tensor("src"), dst = tensor("dst");
    const memory::dims kernel = list("kernel", 1), dilation = list("dilation", 0);
    const pooling_forward::desc d(forward, named<algorithm>("algorithm", "pooling_max"), src, dst,
                                  list("strides", 1), kernel, dilation, list("padding_l", 0),
                                  padding_r(src, dst, kernel, dilation));
    return pooling_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_eltwise() const {
    const eltwise_forward::desc d(forward, named<algorithm>("algorithm", "eltwise_relu"), tensor("src"),
                                  tensor("dst"), number_of<float>(parameter("alpha", "0")),
                                  number_of<float>(parameter("beta", "0")));
    return eltwise_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_binary() const {
    const binary::desc d(named<algorithm>("algorithm", "binary_add"), tensor("src"), tensor("src1"),
                         tensor("dst"));
    return binary::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_softmax() const {
    const softmax_forward::desc d(forward, named<algorithm>("algorithm", "softmax_accurate"), tensor("src"),
                                  tensor("dst"), number_of<int>(parameter("axis", "1")));
    return softmax_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_resampling() const {
    const resampling_forward::desc d(forward, named<algorithm>("algorithm", "resampling_nearest"),
                                     tensor("src"), tensor("dst"),
                                     named<resampling_coordinates>("coordinates", "half_pixel"));
    return resampling_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_sum() const {
    std::vector<float> factors;
    const std::string given = parameter("factors", "");
    for (const std::string &factor : split(given, '/'))
        if (!given.empty())
            factors.push_back(number_of<float>(factor));
    const std::vector<memory::desc> srcs = sources();
    return sum::primitive_desc(tensor("dst"), given.empty() ? std::vector<float>(srcs.size(), 1.f) : factors,
                               srcs, engine_, attr_, allow_empty_);
}

primitive_desc problem_reader::make_concat() const {
    return concat::primitive_desc(tensor("dst"), number_of<int>(parameter("axis", "1")), sources(), engine_,
                                  attr_, allow_empty_);
}

/// Training gives statistics.
prop_kind problem_reader::normalization_prop() const {
    const std::string prop = parameter("prop", "forward_inference");
    if (prop != "forward_inference" && prop != "forward_training")
        throw_invalid("problem: prop '", prop, "', allowed: forward_inference, forward_training");
    return prop == "forward_training" ? prop_kind::forward_training : prop_kind::forward_inference;
}

primitive_desc problem_reader::make_batch_normalization() const {
    const batch_normalization_forward::desc d(normalization_prop(), tensor("src"), tensor("dst"),
                                              number_of<float>(parameter("epsilon", "0")),
                                              flags_from_text(parameter("flags", "use_global_stats")));
    return batch_normalization_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_layer_normalization() const {
    const layer_normalization_forward::desc d(normalization_prop(), tensor("src"), tensor("dst"),
                                              memory::desc(), number_of<float>(parameter("epsilon", "0")),
                                              flags_from_text(parameter("flags", "none")));
    return layer_normalization_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_reduction() const {
    const reduction::desc d(named<algorithm>("algorithm", "reduction_sum"), tensor("src"), tensor("dst"),
                            number_of<float>(parameter("p", "1")),
                            number_of<float>(parameter("epsilon", "0")));
    return reduction::primitive_desc(d, attr_, engine_, allow_empty_);
}

primitive_desc problem_reader::make_prelu() const {
    const prelu_forward::desc d(forward, tensor("src"), tensor("weights"), tensor("dst"));
    return prelu_forward::primitive_desc(d, attr_, engine_, allow_empty_);
}

} // namespace
} // namespace impl

inline namespace v0 {

primitive_desc primitive_desc_from_string(const std::string &problem, const engine &e, bool allow_empty) {
    return impl::problem_reader(problem, e, allow_empty).make();
}

} // namespace v0
} // namespace octet
