// The operands of a case in the forms that a matmul with set_source_quantization takes.
// SPDX-License-Identifier: Apache-2.0
#include "check/dynamic_primitive.hpp"

#include "common/element.hpp"
#include "octet/matmul.hpp"
#include "octet/reorder.hpp"

namespace octet::vectors {

namespace {

memory filled(const memory::desc &md, const engine &e, const std::vector<float> &values) {
    memory m(md, e);
    std::copy(values.begin(), values.end(), m.map_data<float>());
    return m;
}

/// Weights {K, N} and the values that their groups share.
struct grouped_weights {
    const dynamic_weights &w;
    const engine &e;

    dim_t groups() const { return impl::div_up(w.k, w.group); }
    int mask() const { return w.group == w.k ? 2 : 3; }
    memory::dims lengths() const { return w.group == w.k ? memory::dims{} : memory::dims{w.group, 1}; }
    /// Rows of codes that share bytes have whole ones.
    data_type type() const {
        return elements_per_byte(w.type) == 1 || w.k % 2 == 0 ? w.type
               : impl::range_of(w.type).low == 0              ? data_type::u8
                                                              : data_type::s8;
    }
    memory::desc md(format_tag tag) const { return {{w.k, w.columns}, type(), tag}; }
    memory::desc values_md(data_type value_type) const {
        return {{groups() * w.columns}, value_type, format_tag::a};
    }

    memory codes() const {
        memory m(md(format_tag::ba), e);
        for (dim_t n = 0; n < w.columns; n++)
            for (dim_t k = 0; k < w.k; k++) {
                const dim_t i = n * w.k + k;
                impl::store_s32(m.get_data_handle(), type(), i,
                                w.codes[static_cast<std::size_t>(i)] + w.zero_point_at(n, k));
            }
        return m;
    }
    /// Values of columns and groups, {G, N}.
    template <typename Of> void for_each_value(const Of &of) const {
        for (dim_t g = 0; g < groups(); g++)
            for (dim_t n = 0; n < w.columns; n++)
                of(g * w.columns + n, n, g);
    }
    memory scales() const {
        memory m(values_md(data_type::f32), e);
        for_each_value([&](dim_t at, dim_t n, dim_t g) { m.map_data<float>()[at] = w.column(n).scales[g]; });
        return m;
    }
    memory zero_points() const {
        memory m(values_md(data_type::s32), e);
        for_each_value([&](dim_t at, dim_t n, dim_t g) {
            m.map_data<std::int32_t>()[at] = w.zero_point_at(n, g * w.group);
        });
        return m;
    }

    void set(primitive_attr &attr, int arg) const {
        attr.set_scales(arg, mask(), lengths(), data_type::f32);
        attr.set_zero_points(arg, mask(), lengths(), data_type::s32);
    }
    void add(std::unordered_map<int, memory> &args, int arg) const {
        args[OCTET_ARG_ATTR_SCALES | arg] = scales();
        args[OCTET_ARG_ATTR_ZERO_POINTS | arg] = zero_points();
    }
};

} // namespace

std::vector<float> product_by_primitive(combination order, const std::vector<float> &x,
                                        const dynamic_source &source, const dynamic_weights &w,
                                        const std::vector<float> &bias) {
    const engine e(engine::kind::cpu, 0);
    stream s(e);
    const grouped_weights weights{w, e};
    const memory::desc src_md({source.rows, source.k}, data_type::f32, format_tag::ab),
        dst_md({source.rows, w.columns}, data_type::f32, format_tag::ab),
        bias_md =
            bias.empty() ? memory::desc() : memory::desc({1, w.columns}, data_type::f32, format_tag::ab);
    primitive_attr attr;
    attr.set_source_quantization(source.quantization);
    attr.set_combination(order);
    weights.set(attr, OCTET_ARG_WEIGHTS);
    const matmul::primitive_desc pd(e, src_md, weights.md(format_tag::any), bias_md, dst_md, attr);

    const memory plain = weights.codes(), packed(pd.weights_desc(), e), y(dst_md, e);
    primitive_attr packing;
    std::unordered_map<int, memory> packing_args{{OCTET_ARG_FROM, plain}, {OCTET_ARG_TO, packed}};
    if (packed.get_desc().data.packed_kind == packed_kind::matmul_with_scales) {
        weights.set(packing, OCTET_ARG_SRC);
        weights.add(packing_args, OCTET_ARG_SRC);
    }
    primitive(reorder::primitive_desc(plain, packed, packing)).execute(s, packing_args);
    std::unordered_map<int, memory> args{
        {OCTET_ARG_SRC, filled(src_md, e, x)}, {OCTET_ARG_WEIGHTS, packed}, {OCTET_ARG_DST, y}};
    weights.add(args, OCTET_ARG_WEIGHTS);
    if (!bias.empty())
        args[OCTET_ARG_BIAS] = filled(bias_md, e, bias);
    primitive(pd).execute(s, args);
    const auto *results = y.map_data<float>();
    return {results, results + source.rows * w.columns};
}

} // namespace octet::vectors
