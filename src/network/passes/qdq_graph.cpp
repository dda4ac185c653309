// Everything here only looks; a pair that is not plain is as if it were not there, and its floats stay floats.

#include "network/passes/qdq_graph.hpp"

namespace octet::model {

bool qdq_graph::is_plain(int i) const {
    const int codes = is(i, "QuantizeLinear") ? at(i).outputs[0] : input(i, 0);
    const int scale = input(i, 1), zero_point = input(i, 2);
    if (!is_constant(scale) || type(scale) != data_type::f32 || at(i).attributes.count("block_size") != 0)
        return false;
    return zero_point < 0 ||
           (is_constant(zero_point) && type(zero_point) == type(codes) &&
            element_count(tensor_at(zero_point).dims) == element_count(tensor_at(scale).dims));
}

std::optional<quantized> qdq_graph::dequantized(int t) const {
    const int i = producer(t);
    if (!is(i, "DequantizeLinear") || !is_plain(i))
        return {};
    return quantized{input(i, 0), input(i, 1), input(i, 2), attribute_or<std::int64_t>(at(i), "axis", 1)};
}

std::optional<quantized> qdq_graph::activation(int t) const {
    const auto q = dequantized(t);
    return q && is_code(type(q->codes)) && has_one_scale(*q) ? q : std::nullopt;
}

int qdq_graph::quantizer_of(int t) const {
    const int i = only_consumer(t);
    return is(i, "QuantizeLinear") && is_plain(i) && has_one_scale(written(i)) &&
                   is_code(type(at(i).outputs[0]))
               ? i
               : -1;
}

std::int32_t qdq_graph::zero_point_of(const quantized &q) const {
    if (q.zero_point < 0)
        return 0;
    const tensor &t = tensor_at(q.zero_point);
    return t.type == data_type::s8   ? values_of<std::int8_t>(t).at(0)
           : t.type == data_type::u8 ? values_of<std::uint8_t>(t).at(0)
                                     : values_of<std::int32_t>(t).at(0);
}

bool qdq_graph::are_equal(const quantized &a, const quantized &b) const {
    return has_one_scale(a) && has_one_scale(b) && scale_of(a) == scale_of(b) &&
           zero_point_of(a) == zero_point_of(b) && type(a.codes) == type(b.codes);
}

int qdq_graph::add_constant(const std::string &name, data_type type, const memory::dims &dims,
                            std::vector<std::uint8_t> data) {
    tensor t;
    t.name = name;
    t.type = type;
    t.dims = dims;
    t.is_constant = true;
    t.data = std::move(data);
    return add_tensor(std::move(t));
}

int qdq_graph::zero_point_tensor(const quantized &q) {
    if (q.zero_point >= 0)
        return q.zero_point;
    const data_type t = type(q.codes);
    return add_constant("zero", t, {}, std::vector<std::uint8_t>(memory::data_type_size(t)));
}

} // namespace octet::model
