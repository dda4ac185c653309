// Arrays become tensors, keyword arguments attributes, parameters the texts of the library's description;
// then a primitive is made and run. Start with `run`.
// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <charconv>
#include <string_view>

#include "octet/problem_parts.hpp"
#include "operand.hpp"
#include "sentences.hpp"
#include "weights.hpp"

namespace octet::python {
namespace {

// ---- tensors

/// A tensor of an operation: the array, and the execution argument that it is.
struct input {
    int arg;
    operand tensor;

    /// True for the tensors that a description lists; others follow from flags.
    bool is_described() const { return arg < OCTET_ARG_MEAN || arg >= OCTET_ARG_MULTIPLE_SRC; }
    /// True for sources, of which a list's first counts: the others must fit.
    bool decides_sizes() const {
        return arg == OCTET_ARG_SRC || arg == OCTET_ARG_SRC_1 || arg == OCTET_ARG_MULTIPLE_SRC;
    }
};

int argument_of(std::string_view name) {
    constexpr std::pair<std::string_view, int> arguments[] = {
        {"x", OCTET_ARG_SRC},
        {"y", OCTET_ARG_SRC_1},
        {"w", OCTET_ARG_WEIGHTS},
        {"bias", OCTET_ARG_BIAS},
        {"mean", OCTET_ARG_MEAN},
        {"variance", OCTET_ARG_VARIANCE},
        {"scale", OCTET_ARG_SCALE},
        {"shift", OCTET_ARG_SHIFT},
        {"r", OCTET_ARG_WEIGHTS_ITER},
        {"h", OCTET_ARG_SRC_ITER},
        {"c", OCTET_ARG_SRC_ITER_C},
        {"peephole", OCTET_ARG_WEIGHTS_PEEPHOLE},
        {"projection", OCTET_ARG_WEIGHTS_PROJECTION},
        {"h_last", OCTET_ARG_DST_ITER},
        {"c_last", OCTET_ARG_DST_ITER_C}}; // which run writes to
    for (const auto &[known, arg] : arguments)
        if (known == name)
            return arg;
    throw py::type_error("'" + std::string(name) + "' is no tensor");
}

/// From a list, whose tensors the operation takes as OCTET_ARG_MULTIPLE_SRC + i, or a dict by name, where
/// None is absent.
std::vector<input> inputs_of(const py::object &arrays) {
    std::vector<input> inputs;
    if (py::isinstance<py::list>(arrays)) {
        inputs.reserve(py::len(arrays));
        for (const py::handle x : arrays) {
            const int i = static_cast<int>(inputs.size());
            inputs.push_back({OCTET_ARG_MULTIPLE_SRC + i, operand(x, "x" + std::to_string(i))});
            const int rank = inputs.back().tensor.desc.get_ndims(), first = inputs[0].tensor.desc.get_ndims();
            if (rank != first)
                throw py::value_error("x" + std::to_string(i) + " has " + std::to_string(rank) +
                                      " dimensions, the first " + std::to_string(first));
        }
        if (inputs.empty())
            throw py::value_error("xs is empty, allowed: 1 to 1024 arrays");
        return inputs;
    }
    const py::dict named = arrays;
    inputs.reserve(named.size());
    for (const auto &[name, x] : named) {
        const auto who = py::cast<std::string>(name);
        const int arg = argument_of(who);
        if (!x.is_none() || arg == OCTET_ARG_SRC ||
            arg == OCTET_ARG_SRC_1) // an operand that reports None as no array
            inputs.push_back({arg, operand(x, who)});
    }
    return inputs;
}

py::array reshaped(const py::array &y, const dims &shape) {
    if (dims_of(y) == shape)
        return y;
    return py::module_::import("numpy").attr("reshape")(y, py::cast(shape));
}

/// Gives tensors of fewer dimensions leading ones of 1, as NumPy broadcasts, and returns the dimensions of the result.
dims broadcast(std::vector<input> &inputs) {
    int rank = 0;
    for (const input &in : inputs)
        rank = std::max(rank, in.tensor.desc.get_ndims());
    dims sizes(static_cast<std::size_t>(rank), 1);
    for (input &in : inputs) {
        operand &o = in.tensor;
        dims shape = o.desc.dims();
        if (o.desc.get_ndims() < rank) {
            shape.insert(shape.begin(), static_cast<std::size_t>(rank - o.desc.get_ndims()), 1);
            o = operand(reshaped(o.array, shape), "x");
        }
        for (std::size_t d = 0; d < sizes.size() && in.decides_sizes(); d++)
            sizes[d] = shape[d] == 1 ? sizes[d] : shape[d];
    }
    return sizes;
}

// ---- parameters

template <typename Number> void append(std::string &text, Number number) {
    char digits[40];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// A number in the form of the library's texts.
void append_number(std::string &text, const py::handle &value) {
    if (py::isinstance<py::float_>(value))
        append(text, py::cast<float>(value));
    else
        append(text, py::cast<dim_t>(value));
}

/// A number, or one per element between separators.
void append_numbers(std::string &text, const py::handle &value) {
    if (!py::isinstance<py::tuple>(value))
        return append_number(text, value);
    for (const py::handle each : py::reinterpret_borrow<py::tuple>(value)) {
        if (!text.empty())
            text += py::isinstance<py::float_>(each) ? '/' : 'x';
        append_number(text, each);
    }
}

/// The parameters as texts. An algorithm is named without the operation's name; an axis counts from either end.
std::map<std::string, std::string> texts_of(const std::string &operation, const py::dict &parameters,
                                            int rank) {
    const std::string family = operation + "_";
    std::map<std::string, std::string> texts;
    for (const auto &[name, value] : parameters) {
        const auto key = py::cast<std::string>(name);
        std::string &text = texts[key];
        if (key == "axis")
            append(text, axis_of(py::cast<int>(value), rank));
        else if (!py::isinstance<py::str>(value))
            append_numbers(text, value);
        else if (text = py::cast<std::string>(value); key == "algorithm")
            text = to_string(algorithm_of(family, text, "function"));
    }
    return texts;
}

// ---- the whole

/// Runs `operation`. `sizes` are the result's dimensions, None for those that the inputs have when they are
/// broadcast. `w` is None, or weights whose layout the primitive chooses: (array, the Weights that it is a
/// view of or None). With `keep_order`, the result of an image whose channels come last has them last too.
py::array run_primitive(const std::string &operation, const py::object &arrays, const py::dict &parameters,
                        const py::dict &keywords, const py::object &sizes, const py::object &dtype,
                        const std::tuple<int, int, int> &masks, const py::object &w, bool keep_order) {
    std::vector<input> inputs = inputs_of(arrays);
    bool is_scalar = sizes.is_none();
    for (const input &in : inputs)
        is_scalar = is_scalar && in.tensor.array.ndim() == 0;
    const dims shape = sizes.is_none() ? broadcast(inputs) : py::cast<dims>(sizes);
    const operand &x = inputs[0].tensor;
    const bool is_list = inputs[0].arg >= OCTET_ARG_MULTIPLE_SRC;
    const auto [src, weights_mask, dst] = masks;
    const attributes a = attributes_of(keywords, {src, weights_mask, dst}, is_list ? inputs.size() : 0);
    const operand y = result(result_type(dtype, x, a), shape, keep_order && is_channels_last(x), a);

    std::map<int, memory::desc> tensors{{OCTET_ARG_DST, y.desc}};
    std::vector<primitive::argument> args{y.as(OCTET_ARG_DST)};
    for (const input &in : inputs) {
        if (in.is_described())
            tensors[in.arg] = in.tensor.desc;
        args.push_back(in.tensor.as(in.arg));
    }
    std::optional<operand> plain;
    const weight_values *values = a.of_weights ? &*a.of_weights : nullptr;
    if (!w.is_none()) {
        plain.emplace(py::cast<py::tuple>(w)[0], "w");
        if (values)
            values->check(plain->desc.dims());
        tensors[OCTET_ARG_WEIGHTS] =
            memory::desc(plain->desc.dims(), type_of_codes(plain->desc, values), format_tag::any);
    }
    const primitive_desc pd = primitive_desc_from_parts(
        operation, tensors, texts_of(operation, parameters, x.desc.get_ndims()), a.attr, cpu);
    memory packed;
    if (plain) {
        const memory given = memory_of(plain->array, plain->desc);
        const memory::desc chosen = pd.weights_desc();
        const py::object kept = py::cast<py::tuple>(w)[1];
        packed = given.get_desc() == chosen ? given
                 : kept.is_none()           ? packed_codes(plain->array, given, chosen, values)
                                            : py::cast<weights &>(kept).packed(given, chosen, values);
        args.push_back({OCTET_ARG_WEIGHTS, packed.get_data_handle()});
        if (values && !has_values(chosen))
            for (const auto &[arg, tensor] : values->as_arguments(OCTET_ARG_WEIGHTS))
                args.push_back({arg, tensor.get_data_handle()});
    }
    execute(primitive(pd), std::move(args), a);
    return is_scalar ? reshaped(y.array, {}) : y.array;
}

/// `run_primitive`, whose errors are in terms of Python.
template <typename... Args> py::array run(const Args &...args) {
    try {
        return run_primitive(args...);
    } catch (const error &e) {
        throw error(e.status, in_terms_of_operations(e.what()));
    }
}

/// The bias as a dense vector; NumPy's default integers become int32.
py::object bias_of(const py::object &bias) {
    if (bias.is_none())
        return bias;
    py::array given = array_of(bias, "bias");
    if (given.dtype().kind() == 'i' && given.itemsize() == sizeof(std::int64_t))
        given = elements_as(given, data_type::s32, "bias");
    if (given.ndim() != 1)
        throw py::value_error("bias has " + std::to_string(given.ndim()) + " dimensions, allowed: 1");
    const operand b(given, "bias");
    return py::module_::import("numpy").attr("ascontiguousarray")(b.array);
}

/// Memory of others as an array: bytes at `address`, which `owner` keeps.
py::array codes_at(std::uintptr_t address, const std::vector<py::ssize_t> &shape,
                   const std::vector<py::ssize_t> &strides, const py::object &owner) {
    return py::array(dtype_of(data_type::u8), shape, strides, reinterpret_cast<const void *>(address), owner);
}

} // namespace

void bind_operations(py::module_ &m) {
    bind_weights(m);
    m.def("run",
          run<std::string, py::object, py::dict, py::dict, py::object, py::object, std::tuple<int, int, int>,
              py::object, bool>,
          py::arg("operation"), py::arg("arrays"), py::arg("parameters"), py::arg("attributes"),
          py::arg("sizes") = py::none(), py::arg("dtype") = py::none(),
          py::arg("masks") = std::tuple(2, 0, 2), py::arg("w") = py::none(), py::arg("keep_order") = true);
    m.def("as_array", array_of);
    m.def("as_floats", [](const py::object &values, const std::string &who) {
        return elements_as(array_of(values, who), data_type::f32, who);
    });
    m.def("as_bias", bias_of);
    m.def("codes_at", codes_at);
}

} // namespace octet::python
