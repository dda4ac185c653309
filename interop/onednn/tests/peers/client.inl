// A client of oneDNN 2.x, compiled once against oneDNN and once against octet/compat/dnnl.hpp; PEER names the
// namespace. It is written as an application would be: `any` layouts where the problem says so, reorders
// around the primitive.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <unordered_map>

#include "problem.hpp"

namespace peers::PEER {

namespace {

using namespace dnnl;

memory::data_type type_of(type t) {
    switch (t) {
    case type::f32:
        return memory::data_type::f32;
    case type::s32:
        return memory::data_type::s32;
    case type::s8:
        return memory::data_type::s8;
    case type::u8:
        return memory::data_type::u8;
    case type::bf16:
        return memory::data_type::bf16;
    default:
        return memory::data_type::undef;
    }
}

memory::format_tag tag_of(const std::string &layout, std::size_t ndims) {
    using tag = memory::format_tag;
    constexpr tag row_major[] = {tag::undef, tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef};
    constexpr tag channels_last[] = {tag::undef, tag::a, tag::ab, tag::acb, tag::acdb, tag::acdeb};
    static const std::map<std::string, tag> named{
        {"any", tag::any},     {"ba", tag::ba},      {"acb", tag::acb},   {"bac", tag::bac},
        {"abdc", tag::abdc},   {"acdb", tag::acdb},  {"bcda", tag::bcda}, {"cdba", tag::cdba},
        {"wio", tag::wio},     {"hwio", tag::hwio},  {"wigo", tag::wigo}, {"hwigo", tag::hwigo},
        {"acdeb", tag::acdeb}, {"decab", tag::decab}};
    return layout.empty()              ? row_major[ndims]
           : layout == "channels_last" ? channels_last[ndims]
                                       : named.at(layout);
}

algorithm algorithm_of(const std::string &name) {
    static const std::map<std::string, algorithm> algorithms{
        {"relu", algorithm::eltwise_relu},
        {"tanh", algorithm::eltwise_tanh},
        {"elu", algorithm::eltwise_elu},
        {"square", algorithm::eltwise_square},
        {"abs", algorithm::eltwise_abs},
        {"sqrt", algorithm::eltwise_sqrt},
        {"linear", algorithm::eltwise_linear},
        {"bounded_relu", algorithm::eltwise_bounded_relu},
        {"soft_relu", algorithm::eltwise_soft_relu},
        {"logistic", algorithm::eltwise_logistic},
        {"exp", algorithm::eltwise_exp},
        {"gelu_tanh", algorithm::eltwise_gelu_tanh},
        {"swish", algorithm::eltwise_swish},
        {"log", algorithm::eltwise_log},
        {"clip", algorithm::eltwise_clip},
        {"clip_v2", algorithm::eltwise_clip_v2},
        {"pow", algorithm::eltwise_pow},
        {"gelu_erf", algorithm::eltwise_gelu_erf},
        {"round", algorithm::eltwise_round},
        {"logsigmoid", algorithm::eltwise_logsigmoid},
        {"mish", algorithm::eltwise_mish},
        {"hardswish", algorithm::eltwise_hardswish},
        {"pooling_max", algorithm::pooling_max},
        {"pooling_avg", algorithm::pooling_avg},
        {"pooling_avg_include_padding", algorithm::pooling_avg_include_padding},
        {"pooling_avg_exclude_padding", algorithm::pooling_avg_exclude_padding},
        {"binary_add", algorithm::binary_add},
        {"binary_sub", algorithm::binary_sub},
        {"binary_mul", algorithm::binary_mul},
        {"binary_div", algorithm::binary_div},
        {"binary_max", algorithm::binary_max},
        {"binary_min", algorithm::binary_min},
        {"binary_ge", algorithm::binary_ge},
        {"binary_gt", algorithm::binary_gt},
        {"binary_le", algorithm::binary_le},
        {"binary_lt", algorithm::binary_lt},
        {"binary_eq", algorithm::binary_eq},
        {"binary_ne", algorithm::binary_ne},
        {"resampling_nearest", algorithm::resampling_nearest},
        {"resampling_linear", algorithm::resampling_linear},
        {"softmax_accurate", algorithm::softmax_accurate},
        {"softmax_log", algorithm::softmax_log},
        {"lrn_across_channels", algorithm::lrn_across_channels},
        {"lrn_within_channel", algorithm::lrn_within_channel},
    };
    return algorithms.at(name);
}

memory::desc plain_desc(const tensor &t) { return {t.shape, type_of(t.element), tag_of("", t.shape.size())}; }
memory::desc wanted_desc(const tensor &t) {
    return t.is_absent() ? memory::desc()
                         : memory::desc(t.shape, type_of(t.element), tag_of(t.layout, t.shape.size()));
}

primitive_attr attr_of(const attributes &a) {
    primitive_attr attr;
    if (a.scales.set)
        attr.set_output_scales(a.scales.mask,
                               a.scales.runtime ? std::vector<float>{DNNL_RUNTIME_F32_VAL} : a.scales.values);
    if (a.src_scale != 1.f)
        attr.set_scales(DNNL_ARG_SRC_0, 0, {a.src_scale});
    if (a.src1_scale != 1.f)
        attr.set_scales(DNNL_ARG_SRC_1, 0, {a.src1_scale});
    const auto set_zero_points = [&](int arg, const masked<std::int32_t> &z) {
        if (z.set)
            attr.set_zero_points(arg, z.mask,
                                 z.runtime ? std::vector<std::int32_t>{DNNL_RUNTIME_S32_VAL} : z.values);
    };
    set_zero_points(DNNL_ARG_SRC, a.src_zero_points);
    set_zero_points(DNNL_ARG_WEIGHTS, a.weights_zero_points);
    set_zero_points(DNNL_ARG_DST, a.dst_zero_points);

    post_ops ops;
    for (const post_op &op : a.post_ops) {
        if (op.is_sum())
            ops.append_sum(op.scale, op.zero_point, type_of(op.sum_type));
        else if (op.is_prelu())
            ops.append_prelu(op.mask);
        else if (op.is_depthwise())
            ops.append_dw(type_of(op.input.element), type_of(op.bias.element), type_of(op.sum_type),
                          op.kernel, op.stride, op.padding, op.scales.size() == 1 ? 0 : 2, op.scales);
        else if (op.is_binary())
            ops.append_binary(algorithm_of(op.name), wanted_desc(op.input));
        else
            ops.append_eltwise(op.scale, algorithm_of(op.name), op.alpha, op.beta);
    }
    attr.set_post_ops(ops);
    return attr;
}

class session {
public:
    session() : engine_(engine::kind::cpu, 0), stream_(engine_) {}

    /// Runs every implementation of the operation.
    template <typename Primitive> answers run(const typename Primitive::desc &desc, const problem &p) {
        answers result;
        typename Primitive::primitive_desc pd(desc, attr_of(p.attr), engine_);
        do
            result.list.push_back(execute(pd, Primitive(pd), p));
        while (pd.next_impl());
        return result;
    }

    answers run_reorder(const problem &p) {
        const dnnl::reorder::primitive_desc pd(engine_, wanted_desc(p.src), engine_, wanted_desc(p.dst),
                                               attr_of(p.attr));
        return {{execute(pd, dnnl::reorder(pd), p)}, {}};
    }

    answers run_sum(const problem &p) {
        const dnnl::sum::primitive_desc pd(wanted_desc(p.dst), p.scales, source_descs(p), engine_,
                                           attr_of(p.attr));
        return {{execute(pd, dnnl::sum(pd), p)}, {}};
    }

    answers run_concat(const problem &p) {
        primitive_attr attr;
        for (int i = 0; i < static_cast<int>(p.scales.size()); i++)
            attr.set_scales(DNNL_ARG_MULTIPLE_SRC + i, 0, {p.scales[i]});
        const dnnl::concat::primitive_desc pd(wanted_desc(p.dst), p.axis, source_descs(p), engine_, attr);
        return {{execute(pd, dnnl::concat(pd), p)}, {}};
    }

    answers run_shuffle(const problem &p) { // takes no attributes
        const shuffle_forward::desc d(prop_kind::forward_inference, wanted_desc(p.src), p.axis,
                                      static_cast<int>(p.size));
        const shuffle_forward::primitive_desc pd(d, engine_);
        return {{execute(pd, shuffle_forward(pd), p)}, {}};
    }

private:
    static std::vector<memory::desc> source_descs(const problem &p) {
        std::vector<memory::desc> descs;
        for (const tensor &t : p.srcs)
            descs.push_back(wanted_desc(t));
        return descs;
    }

    answer execute(const primitive_desc_base &pd, const primitive &op, const problem &p) {
        std::unordered_map<int, memory> args{{DNNL_ARG_DST, filled(p.dst, pd.query_md(query::dst_md))}};
        for (int i = 0; i < static_cast<int>(p.srcs.size()); i++)
            args[DNNL_ARG_MULTIPLE_SRC + i] = filled(p.srcs[i], pd.query_md(query::src_md, i));
        const auto add = [&](int arg, const tensor &t) {
            if (!t.is_absent())
                args[arg] = filled(t, pd.query_md(query::exec_arg_md, arg));
        };
        add(DNNL_ARG_SRC, p.src);
        add(DNNL_ARG_SRC_1, p.src1);
        add(DNNL_ARG_WEIGHTS, p.weights);
        add(DNNL_ARG_BIAS, p.bias);
        for (const post_op &dw : p.attr.post_ops)
            if (dw.is_depthwise()) {
                add(DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS, dw.input);
                add(DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_BIAS, dw.bias);
            }
        add_attribute_arguments(p.attr, args);
        op.execute(stream_, args);
        stream_.wait();
        return {pd.impl_info_str(), row_major_bytes(args.at(DNNL_ARG_DST), p.dst)};
    }

    void add_attribute_arguments(const attributes &a, std::unordered_map<int, memory> &args) {
        if (a.scales.runtime)
            args[DNNL_ARG_ATTR_OUTPUT_SCALES] = vector_memory(a.scales.values, memory::data_type::f32);
        const auto add = [&](int arg, const masked<std::int32_t> &z) {
            if (z.runtime)
                args[DNNL_ARG_ATTR_ZERO_POINTS | arg] = vector_memory(z.values, memory::data_type::s32);
        };
        add(DNNL_ARG_SRC, a.src_zero_points);
        add(DNNL_ARG_WEIGHTS, a.weights_zero_points);
        add(DNNL_ARG_DST, a.dst_zero_points);
        for (int i = 0; i < static_cast<int>(a.post_ops.size()); i++) {
            const post_op &op = a.post_ops[i];
            if (op.input.is_absent() || op.is_depthwise())
                continue;
            const int arg = op.is_binary() ? DNNL_ARG_SRC_1 : DNNL_ARG_WEIGHTS;
            args[DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | arg] = filled(op.input, wanted_desc(op.input));
        }
    }

    /// The tensor's elements in the layout that a primitive descriptor names.
    memory filled(const tensor &t, const memory::desc &md) {
        memory user(plain_desc(t), engine_);
        std::memcpy(user.get_data_handle(), t.data.data(), t.data.size());
        return reordered(user, md);
    }

    bytes row_major_bytes(const memory &m, const tensor &t) {
        const memory plain = reordered(m, plain_desc(t));
        const auto *first = static_cast<const std::uint8_t *>(plain.get_data_handle());
        return bytes(first, first + plain.get_desc().get_size());
    }

    template <typename T> memory vector_memory(const std::vector<T> &values, memory::data_type t) {
        memory m({{static_cast<memory::dim>(values.size())}, t, memory::format_tag::a}, engine_);
        std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(T));
        return m;
    }

    memory reordered(memory from, const memory::desc &md) {
        if (from.get_desc() == md)
            return from;
        memory to(md, engine_);
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
        return to;
    }

    engine engine_;
    stream stream_;
};

convolution_forward::desc convolution_desc(const problem &p) {
    const auto prop = prop_kind::forward_inference;
    const auto alg = algorithm::convolution_direct;
    const memory::desc src = wanted_desc(p.src), weights = wanted_desc(p.weights),
                       dst = wanted_desc(p.between.is_absent() ? p.dst : p.between);
    if (p.bias.is_absent())
        return {prop, alg, src, weights, dst, p.strides, p.dilates, p.padding_l, p.padding_r};
    return {prop, alg,       src,       weights,     wanted_desc(p.bias),
            dst,  p.strides, p.dilates, p.padding_l, p.padding_r};
}

inner_product_forward::desc inner_product_desc(const problem &p) {
    const auto prop = prop_kind::forward; // as in oneDNN's own int8 example
    const memory::desc src = wanted_desc(p.src), weights = wanted_desc(p.weights), dst = wanted_desc(p.dst);
    if (p.bias.is_absent())
        return {prop, src, weights, dst};
    return {prop, src, weights, wanted_desc(p.bias), dst};
}

dnnl::matmul::desc matmul_desc(const problem &p) {
    const memory::desc src = wanted_desc(p.src), weights = wanted_desc(p.weights), dst = wanted_desc(p.dst);
    if (p.bias.is_absent())
        return {src, weights, dst};
    return {src, weights, wanted_desc(p.bias), dst};
}

pooling_forward::desc pooling_desc(const problem &p) {
    return {prop_kind::forward_inference,
            algorithm_of(p.algorithm),
            wanted_desc(p.src),
            wanted_desc(p.dst),
            p.strides,
            p.kernel,
            p.padding_l,
            p.padding_r};
}

dnnl::binary::desc binary_desc(const problem &p) {
    return {algorithm_of(p.algorithm), wanted_desc(p.src), wanted_desc(p.src1), wanted_desc(p.dst)};
}

deconvolution_forward::desc deconvolution_desc(const problem &p) {
    const auto prop = prop_kind::forward_inference;
    const auto alg = algorithm::deconvolution_direct;
    const memory::desc src = wanted_desc(p.src), weights = wanted_desc(p.weights), dst = wanted_desc(p.dst);
    if (p.bias.is_absent())
        return {prop, alg, src, weights, dst, p.strides, p.dilates, p.padding_l, p.padding_r};
    return {prop, alg,       src,       weights,     wanted_desc(p.bias),
            dst,  p.strides, p.dilates, p.padding_l, p.padding_r};
}

eltwise_forward::desc eltwise_desc(const problem &p) {
    return {prop_kind::forward_inference, algorithm_of(p.algorithm), wanted_desc(p.src), p.alpha, p.beta};
}

softmax_v2_forward::desc softmax_desc(const problem &p) {
    return {prop_kind::forward_inference, algorithm_of(p.algorithm), wanted_desc(p.src), wanted_desc(p.dst),
            p.axis};
}

prelu_forward::desc prelu_desc(const problem &p) {
    return {prop_kind::forward_inference, wanted_desc(p.src), wanted_desc(p.weights)};
}

resampling_forward::desc resampling_desc(const problem &p) {
    return {prop_kind::forward_inference, algorithm_of(p.algorithm), wanted_desc(p.src), wanted_desc(p.dst)};
}

lrn_forward::desc lrn_desc(const problem &p) {
    return {prop_kind::forward_inference,
            algorithm_of(p.algorithm),
            wanted_desc(p.src),
            p.size,
            p.alpha,
            p.beta,
            p.k};
}

logsoftmax_forward::desc logsoftmax_desc(const problem &p) {
    return {prop_kind::forward_inference, wanted_desc(p.src), p.axis};
}

answers run(const problem &p) {
    session s;
    switch (p.op) {
    case operation::convolution:
    case operation::fused_depthwise:
        return s.run<convolution_forward>(convolution_desc(p), p);
    case operation::inner_product:
        return s.run<inner_product_forward>(inner_product_desc(p), p);
    case operation::matmul:
        return s.run<dnnl::matmul>(matmul_desc(p), p);
    case operation::pooling:
        return s.run<pooling_forward>(pooling_desc(p), p);
    case operation::binary:
        return s.run<dnnl::binary>(binary_desc(p), p);
    case operation::reorder:
        return s.run_reorder(p);
    case operation::deconvolution:
        return s.run<deconvolution_forward>(deconvolution_desc(p), p);
    case operation::eltwise:
        return s.run<eltwise_forward>(eltwise_desc(p), p);
    case operation::softmax:
        return s.run<softmax_v2_forward>(softmax_desc(p), p);
    case operation::prelu:
        return s.run<prelu_forward>(prelu_desc(p), p);
    case operation::resampling:
        return s.run<resampling_forward>(resampling_desc(p), p);
    case operation::sum:
        return s.run_sum(p);
    case operation::concat:
        return s.run_concat(p);
    case operation::lrn:
        return s.run<lrn_forward>(lrn_desc(p), p);
    case operation::shuffle:
        return s.run_shuffle(p);
    case operation::logsoftmax:
        return s.run<logsoftmax_forward>(logsoftmax_desc(p), p);
    }
    return {};
}

} // namespace

answers ask(const problem &p) {
    try {
        return run(p);
    } catch (const dnnl::error &e) {
        return {{}, std::string(dnnl_status2str(e.status)) + ": " + e.message};
    }
}

// The calls that applications make besides running primitives. Both libraries have to give the same text.
std::string api_tour() {
    std::ostringstream out;
    const auto print = [&](const char *what, const auto &...values) {
        out << what;
        ((out << ' ' << values), ...);
        out << '\n';
    };
    const auto status_of = [](const std::function<void()> &call) -> std::string {
        try {
            call();
        } catch (const dnnl::error &e) {
            return dnnl_status2str(e.status);
        }
        return "no error";
    };

    const engine eng(engine::kind::cpu, 0);
    stream s(eng, stream::flags::default_flags);
    print("engine", eng.get_kind() == engine::kind::cpu, engine::get_count(engine::kind::cpu) > 0,
          s.get_engine() == eng, !engine());

    using tag = memory::format_tag;
    using dt = memory::data_type;
    const memory::desc src_md({2, 6, 5, 4}, dt::u8, tag::nhwc), weights_md({2, 4, 3, 3, 3}, dt::s8, tag::any);
    const memory::desc bias_md({8}, dt::s32, tag::x), dst_md({2, 8, 5, 4}, dt::s8, tag::any);
    print("desc", src_md.data.ndims, src_md.data.dims[1], src_md.dims()[3], src_md.get_size(),
          src_md.is_zero(), bool(memory::desc()), src_md.data_type() == dt::u8,
          memory::data_type_size(dt::s32), src_md == src_md, src_md != dst_md);
    print("strides", src_md == memory::desc({2, 6, 5, 4}, dt::u8, memory::dims{120, 1, 24, 6}),
          src_md.permute_axes({0, 3, 1, 2}) == memory::desc({2, 5, 4, 6}, dt::u8, tag::nchw),
          memory::desc({2, 3}, dt::f32, tag::ab).reshape({6}) == memory::desc({6}, dt::f32, tag::a),
          src_md.submemory_desc({1, 6, 5, 4}, {1, 0, 0, 0}).dims()[0]);
    print("allow_empty", memory::desc({2, 3}, dt::f32, tag::nchw, true).is_zero());

    primitive_attr attr;
    int mask = -1;
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;
    attr.get_output_scales(mask, scales);
    print("default scales", mask, scales.size(), scales[0]);
    attr.set_output_scales(1 << 1, std::vector<float>(8, 0.5f));
    attr.get_output_scales(mask, scales);
    print("scales", mask, scales.size(), scales[0]);
    attr.set_zero_points(DNNL_ARG_SRC, 0, {7});
    attr.get_zero_points(DNNL_ARG_SRC, mask, zero_points);
    print("zero points", mask, zero_points.size(), zero_points[0]);
    attr.set_scratchpad_mode(scratchpad_mode::user);
    print("scratchpad", attr.get_scratchpad_mode() == scratchpad_mode::user);

    post_ops ops;
    ops.append_eltwise(2.f, algorithm::eltwise_relu, 0.25f, 0.f);
    ops.append_sum(0.5f, 3, dt::u8);
    ops.append_binary(algorithm::binary_mul, memory::desc({1, 8, 1, 1}, dt::f32, tag::nchw));
    attr.set_post_ops(ops);
    const post_ops got = attr.get_post_ops();
    float scale, alpha, beta;
    algorithm alg;
    std::int32_t zero_point;
    dt sum_type;
    memory::desc src1;
    got.get_params_eltwise(0, scale, alg, alpha, beta);
    print("eltwise", got.len(), got.kind(0) == primitive::kind::eltwise, scale,
          alg == algorithm::eltwise_relu, alpha, beta);
    got.get_params_sum(1, scale, zero_point, sum_type);
    print("sum", got.kind(1) == primitive::kind::sum, scale, zero_point, sum_type == dt::u8);
    got.get_params_binary(2, alg, src1);
    print("binary", alg == algorithm::binary_mul, src1.dims()[1]);
    print("wrong entry", status_of([&] { got.get_params_sum(0, scale); }));

    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_auto, src_md,
                                      weights_md, bias_md, dst_md, {1, 1}, {1, 1}, {1, 1});
    const convolution_forward::primitive_desc pd(d, attr, eng);
    print("query", pd.src_desc() == src_md, pd.query_md(query::weights_md, 1) == pd.bias_desc(),
          pd.bias_desc() == bias_md, pd.query_md(query::exec_arg_md, DNNL_ARG_DST) == pd.dst_desc(),
          pd.weights_desc().get_size() >= 216, pd.get_kind() == primitive::kind::convolution,
          pd.get_engine() == eng, pd.get_primitive_attr().get_post_ops().len());
    const convolution_forward conv(pd);
    print("primitive", bool(conv), bool(convolution_forward()),
          conv.get_kind() == primitive::kind::convolution);

    std::vector<float> values{1.f, 2.f, 3.f};
    memory m({{3}, dt::f32, tag::a}, eng, values.data());
    m.set_data_handle(values.data(), s);
    float *mapped = m.map_data<float>();
    print("memory", m.get_data_handle() == values.data(), mapped[2], m.get_desc().dims()[0],
          m.get_engine() == eng);
    m.unmap_data(mapped);

    const memory::desc nine_channels({2, 9, 5, 4}, dt::s8, tag::any);
    print("wrong channels", status_of([&] {
              convolution_forward::primitive_desc(
                  {prop_kind::forward_inference, algorithm::convolution_direct, src_md, weights_md, bias_md,
                   nine_channels, memory::dims{1, 1}, memory::dims{1, 1}, memory::dims{1, 1}},
                  eng);
          }));
    print("null engine", status_of([&] { stream{engine()}; }) != "no error");
    return out.str();
}

} // namespace peers::PEER
