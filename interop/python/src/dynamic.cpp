// Names become enumerators by their own texts; what a quantizer lacks, the library's setter tells.
// SPDX-License-Identifier: Apache-2.0
#include "dynamic.hpp"

#include <algorithm>
#include <cstring>

namespace octet::python {
namespace {

/// The enumerator of this name, of those up to `last`.
template <typename Enum> Enum named(const std::string &name, Enum last, const char *who) {
    std::string known;
    for (int i = 0; i <= static_cast<int>(last); i++) {
        const auto value = static_cast<Enum>(i);
        if (name == to_string(value))
            return value;
        known += (known.empty() ? "" : ", ") + std::string(to_string(value));
    }
    throw py::value_error(std::string(who) + " is '" + name + "', allowed: " + known);
}

bool same_bytes(const py::array &a, const py::array &b) {
    return a.nbytes() == b.nbytes() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.nbytes())) == 0;
}

memory vector_of(const py::array &values, data_type type) {
    return memory_of(values, memory::desc({values.size()}, type, format_tag::a));
}

/// Two codes per byte, K innermost.
memory shared_codes(const py::array &w, const memory &plain, const weight_values &values) {
    const data_type type = values.type;
    const int low = type == data_type::s4 ? -8 : 0, high = low + 15;
    if (w.size() > 0)
        for (const char *end : {"min", "max"})
            if (const int code = py::cast<int>(w.attr(end)()); code < low || code > high)
                throw py::value_error("w has the code " + std::to_string(code) + ", allowed with w_type \"" +
                                      (type == data_type::s4 ? "int4" : "uint4") +
                                      "\": " + std::to_string(low) + " to " + std::to_string(high));
    const dims sizes = plain.get_desc().dims();
    const dims strides = values.has_columns_first ? dims{sizes[1], 1} : dims{1, sizes[0]};
    memory codes(memory::desc(sizes, type, strides), cpu);
    reorder(plain, codes).execute(stream(cpu), plain, codes);
    return codes;
}

} // namespace

void weight_values::check(const memory::dims &weights) const {
    if (weights.size() != 2)
        throw py::value_error("w has " + std::to_string(weights.size()) +
                              " dimensions, allowed with quantize: 2");
    const dim_t n = weights[has_columns_first ? 0 : 1], k = weights[has_columns_first ? 1 : 0];
    if (const dim_t length = groups.empty() ? 0 : groups[has_columns_first ? 1 : 0];
        length > std::max<dim_t>(k, 1))
        throw py::value_error("group is " + std::to_string(length) + ", allowed: 1 to " + std::to_string(k) +
                              ", the k of w");
    const auto check_shape = [&](const py::array &values, const char *who) {
        const dims shape = dims_of(values);
        if (shape.size() < 2) {
            if (values.size() != 1 && values.size() != n)
                throw py::value_error(std::string(who) + " has " + std::to_string(values.size()) +
                                      " values, allowed: 1, " + std::to_string(n));
            return;
        }
        const dim_t length = groups[has_columns_first ? 1 : 0], count = (k + length - 1) / length;
        const dims allowed = has_columns_first ? dims{n, count} : dims{count, n};
        if (shape != allowed)
            throw py::value_error(std::string(who) + " has shape " +
                                  py::cast<std::string>(py::str(py::tuple(py::cast(shape)))) + ", allowed: " +
                                  py::cast<std::string>(py::str(py::tuple(py::cast(allowed)))));
    };
    check_shape(scales, "w_scale");
    if (zero_points)
        check_shape(*zero_points, "w_zero_point");
}

void weight_values::add_to(primitive_attr &attr, int arg) const {
    attr.set_scales(arg, scale_mask, scale_mask == 3 ? groups : memory::dims(), data_type::f32);
    if (zero_points)
        attr.set_zero_points(arg, zero_point_mask, zero_point_mask == 3 ? groups : memory::dims(),
                             data_type::s32);
}

std::unordered_map<int, memory> weight_values::as_arguments(int arg) const {
    std::unordered_map<int, memory> args{{OCTET_ARG_ATTR_SCALES | arg, vector_of(scales, data_type::f32)}};
    if (zero_points)
        args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = vector_of(*zero_points, data_type::s32);
    return args;
}

bool weight_values::equals(const weight_values &other) const {
    return scale_mask == other.scale_mask && zero_point_mask == other.zero_point_mask &&
           groups == other.groups && type == other.type && same_bytes(scales, other.scales) &&
           zero_points.has_value() == other.zero_points.has_value() &&
           (!zero_points || same_bytes(*zero_points, *other.zero_points));
}

weight_values weight_values::copied() const {
    weight_values own = *this;
    own.scales = py::array(scales.attr("copy")());
    if (zero_points)
        own.zero_points = py::array(zero_points->attr("copy")());
    return own;
}

bool has_values(const memory::desc &weights) {
    return weights.data.format_kind == format_kind::packed &&
           weights.data.packed_kind == packed_kind::matmul_with_scales;
}

source_quantization quantization_of(const std::string &by, const std::string &span,
                                    const std::optional<bool> &is_symmetric,
                                    const std::optional<data_type> &code) {
    source_quantization q;
    q.by = named(by, source_quantizer::ggml_avx2, "quantizer");
    q.span = named(span, source_span::tensor, "quantize");
    const auto is_known = [](const source_quantization &wanted) {
        try {
            primitive_attr().set_source_quantization(wanted);
            return true;
        } catch (const error &) {
            return false;
        }
    };
    for (const bool symmetric : {true, false})
        for (const data_type type : {data_type::s8, data_type::u8}) {
            q.mode = is_symmetric.value_or(symmetric) ? source_mode::symmetric : source_mode::asymmetric;
            q.code = code.value_or(type);
            if (is_known(q))
                return q;
        }
    return q; // which set_source_quantization refuses
}

combination combination_of(const std::string &name) {
    return named(name, combination::ggml_avx2, "combination");
}

memory packed_codes(const py::array &w, const memory &plain, const memory::desc &chosen,
                    const weight_values *values) {
    memory from = plain;
    if (values && values->type != data_type::undef)
        from = shared_codes(w, plain, *values);
    if (from.get_desc() == chosen)
        return from;
    primitive_attr attr;
    std::unordered_map<int, memory> args;
    if (values && has_values(chosen)) {
        values->add_to(attr, OCTET_ARG_SRC);
        args = values->as_arguments(OCTET_ARG_SRC);
    }
    memory m(chosen, cpu);
    args[OCTET_ARG_FROM] = from;
    args[OCTET_ARG_TO] = m;
    static_cast<const primitive &>(reorder(reorder::primitive_desc(from, m, attr)))
        .execute(stream(cpu), args);
    return m;
}

} // namespace octet::python
