// A product of a table in Octet's own order, its source quantized per row: weights are packed beforehand, with scales
// that are the same everywhere. And the product of codes that it is measured against.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "bench/layer.hpp"

namespace octet::tools {

namespace {

struct dynamic_product {
    memory::desc src, weights, dst, plain;
    int mask;
    memory::dims groups;
};

dynamic_product described(const layer &l, const dynamic_weights &d) {
    const bool has_groups = d.group != 0 && d.group < l.k;
    dynamic_product p;
    p.src = {{l.m, l.k}, data_type::f32, format_tag::ab};
    p.dst = {{l.m, l.n}, data_type::f32, format_tag::ab};
    const bool is_inner_product = l.kind == layer_kind::inner_product;
    const memory::dims dims = is_inner_product ? memory::dims{l.n, l.k} : memory::dims{l.k, l.n};
    p.weights = {dims, d.type, format_tag::any};
    p.plain = {dims, d.type, is_inner_product ? format_tag::ab : format_tag::ba};
    p.mask = has_groups ? 3 : is_inner_product ? 1 : 2;
    if (has_groups)
        p.groups = is_inner_product ? memory::dims{1, d.group} : memory::dims{d.group, 1};
    return p;
}

class dynamic_workload : public workload {
public:
    dynamic_workload(const layer &l, const dynamic_weights &d) {
        const dynamic_product p = described(l, d);
        primitive_attr attr;
        attr.set_source_quantization({});
        attr.set_scales(OCTET_ARG_WEIGHTS, p.mask, p.groups, data_type::f32);
        if (l.kind == layer_kind::inner_product)
            take(inner_product_forward::primitive_desc(engine_, prop_kind::forward_inference, p.src,
                                                       p.weights, p.dst, attr),
                 p);
        else
            take(matmul::primitive_desc(engine_, p.src, p.weights, p.dst, attr), p);
    }

    void run() override {
        primitive_.execute(stream_, arguments_);
        stream_.wait();
    }
    std::string implementation() const override { return implementation_; }

private:
    template <typename PrimitiveDesc> void take(const PrimitiveDesc &pd, const dynamic_product &p) {
        primitive_ = primitive(pd);
        implementation_ = pd.impl_info_str();
        const memory src(p.src, engine_), dst(p.dst, engine_), plain(p.plain, engine_),
            packed(pd.weights_desc(), engine_);
        fill(src.get_data_handle(), data_type::f32, p.src.get_size(), 1);
        fill(plain.get_data_handle(), data_type::u8, p.plain.get_size(), 2);
        primitive_attr attr;
        attr.set_scales(OCTET_ARG_SRC, p.mask, p.groups, data_type::f32);
        const primitive_desc packing = reorder::primitive_desc(plain, packed, attr);
        const memory scales(packing.arg_desc(OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC), engine_);
        std::fill_n(scales.map_data<float>(), scales.get_desc().get_size() / sizeof(float), 0x1p-8f);
        primitive(packing).execute(stream_, {{OCTET_ARG_FROM, plain},
                                             {OCTET_ARG_TO, packed},
                                             {OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC, scales}});
        stream_.wait();
        arguments_ = {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, packed}, {OCTET_ARG_DST, dst}};
    }

    engine engine_{engine::kind::cpu, 0};
    stream stream_{engine_};
    primitive primitive_;
    std::unordered_map<int, memory> arguments_;
    std::string implementation_;
};

} // namespace

std::unique_ptr<workload> make_dynamic_workload(const layer &l, const dynamic_weights &d) {
    return std::make_unique<dynamic_workload>(l, d);
}

bench_contract static_contract() {
    bench_contract c;
    c.src = c.weights = data_type::s8;
    c.dst = data_type::f32;
    return c;
}

} // namespace octet::tools
