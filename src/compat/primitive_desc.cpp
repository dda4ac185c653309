// Primitive descriptors of the C interface: an operation's description becomes Octet's, and queries are answered from a table
// of tensors by execution argument that is filled when the descriptor is made.

#include <algorithm>

#include "compat/convert.hpp"
#include "octet/compat/dnnl_debug.h"

using namespace octet::compat;
using octet::memory;
using octet::status;

namespace {

using client_descs = std::map<int, dnnl_memory_desc_t>; ///< by execution argument

struct request {
    dnnl_primitive_kind_t kind;
    dnnl_prop_kind_t prop = dnnl_prop_kind_undef;
    client_descs tensors;
    std::vector<char> op_desc;
};

template <typename Desc> const Desc &as(const_dnnl_op_desc_t desc, request &r) {
    const Desc &typed = *static_cast<const Desc *>(desc);
    const char *bytes = static_cast<const char *>(desc);
    r.op_desc.assign(bytes, bytes + sizeof(Desc));
    return typed;
}

memory::dims spatial(const dnnl_dims_t values, const dnnl_memory_desc_t &tensor) {
    return memory::dims(values, values + std::max(tensor.ndims - 2, 0));
}

/// A tensor of the operation, in Octet's form; the client's is kept for queries.
class tensors_of {
public:
    explicit tensors_of(request &r) : r_(r) {}
    memory::desc operator()(int arg, const dnnl_memory_desc_t &md, const char *name) const {
        if (md.ndims > 0)
            r_.tensors[arg] = md;
        return desc_of(md, name);
    }

private:
    request &r_;
};

template <typename Primitive>
octet::primitive_desc_base convolution(const dnnl_convolution_desc_t &d, request &r,
                                       const octet::primitive_attr &attr, const octet::engine &engine) {
    const tensors_of tensor(r);
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src");
    const auto weights = tensor(DNNL_ARG_WEIGHTS, d.weights_desc, "weights");
    const auto bias = tensor(DNNL_ARG_BIAS, d.bias_desc, "bias");
    const auto dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
    return typename Primitive::primitive_desc(
        typename Primitive::desc(prop, algorithm_of(d.alg_kind), src, weights, bias, dst,
                                 spatial(d.strides, d.src_desc), spatial(d.dilates, d.src_desc),
                                 spatial(d.padding[0], d.src_desc), spatial(d.padding[1], d.src_desc)),
        attr, engine);
}

template <typename Desc>
octet::primitive_desc_base pooling(const Desc &d, const memory::dims &dilation, request &r,
                                   const octet::primitive_attr &attr, const octet::engine &engine) {
    const tensors_of tensor(r);
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src"), dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
    return octet::pooling_forward::primitive_desc(
        octet::pooling_forward::desc(prop, algorithm_of(d.alg_kind), src, dst, spatial(d.strides, d.src_desc),
                                     spatial(d.kernel, d.src_desc), dilation,
                                     spatial(d.padding[0], d.src_desc), spatial(d.padding[1], d.src_desc)),
        attr, engine);
}

octet::primitive_desc_base softmax(const dnnl_softmax_desc_t &d, octet::algorithm alg, request &r,
                                   const octet::primitive_attr &attr, const octet::engine &engine) {
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto data = tensors_of(r)(DNNL_ARG_SRC, d.data_desc, "data");
    r.tensors[DNNL_ARG_DST] = d.data_desc;
    return octet::softmax_forward::primitive_desc(
        octet::softmax_forward::desc(prop, alg, data, data, d.softmax_axis), attr, engine);
}

octet::primitive_desc_base resampling(const dnnl_resampling_desc_t &d, request &r,
                                      const octet::primitive_attr &attr, const octet::engine &engine) {
    const tensors_of tensor(r);
    using op = octet::resampling_forward;
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src"), dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
    const auto alg = algorithm_of(d.alg_kind);
    const std::vector<float> factors(d.factors, d.factors + std::max(d.src_desc.ndims - 2, 0));
    return dst.is_zero() ? op::primitive_desc(op::desc(prop, alg, factors, src), attr, engine)
                         : op::primitive_desc(op::desc(prop, alg, factors, src, dst), attr, engine);
}

octet::primitive_desc_base batch_normalization(const dnnl_batch_normalization_desc_t &d, request &r,
                                               const octet::primitive_attr &attr,
                                               const octet::engine &engine) {
    using op = octet::batch_normalization_forward;
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto data = tensors_of(r)(DNNL_ARG_SRC, d.data_desc, "data");
    r.tensors[DNNL_ARG_DST] = d.data_desc;
    return op::primitive_desc(
        op::desc(prop, data, d.batch_norm_epsilon, static_cast<octet::normalization_flags>(d.flags)), attr,
        engine);
}

octet::primitive_desc_base layer_normalization(const dnnl_layer_normalization_desc_t &d, request &r,
                                               const octet::primitive_attr &attr,
                                               const octet::engine &engine) {
    using op = octet::layer_normalization_forward;
    const auto prop = prop_of(r.prop = d.prop_kind);
    const auto data = tensors_of(r)(DNNL_ARG_SRC, d.data_desc, "data");
    const auto stats = tensors_of(r)(DNNL_ARG_MEAN, d.stat_desc, "stat");
    r.tensors[DNNL_ARG_DST] = d.data_desc;
    if (d.stat_desc.ndims > 0)
        r.tensors[DNNL_ARG_VARIANCE] = d.stat_desc;
    return op::primitive_desc(
        op::desc(prop, data, stats, d.layer_norm_epsilon, static_cast<octet::normalization_flags>(d.flags)),
        attr, engine);
}

octet::primitive_desc_base reduction(const dnnl_reduction_desc_t &d, request &r,
                                     const octet::primitive_attr &attr, const octet::engine &engine) {
    const tensors_of tensor(r);
    using op = octet::reduction;
    const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src"), dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
    return op::primitive_desc(op::desc(algorithm_of(d.alg_kind), src, dst, d.p, d.eps), attr, engine);
}

/// The operation as Octet's primitive descriptor.
octet::primitive_desc_base make(const_dnnl_op_desc_t desc, request &r, const octet::primitive_attr &attr,
                                const octet::engine &engine) {
    const tensors_of tensor(r);
    switch (r.kind) {
    case dnnl_convolution:
        return convolution<octet::convolution_forward>(as<dnnl_convolution_desc_t>(desc, r), r, attr, engine);
    case dnnl_deconvolution:
        return convolution<octet::deconvolution_forward>(as<dnnl_deconvolution_desc_t>(desc, r), r, attr,
                                                         engine);
    case dnnl_inner_product: {
        const auto &d = as<dnnl_inner_product_desc_t>(desc, r);
        const auto prop = prop_of(r.prop = d.prop_kind);
        const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src");
        const auto weights = tensor(DNNL_ARG_WEIGHTS, d.weights_desc, "weights");
        const auto bias = tensor(DNNL_ARG_BIAS, d.bias_desc, "bias");
        const auto dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
        using op = octet::inner_product_forward;
        return op::primitive_desc(op::desc(prop, src, weights, bias, dst), attr, engine);
    }
    case dnnl_matmul: {
        const auto &d = as<dnnl_matmul_desc_t>(desc, r);
        const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src");
        const auto weights = tensor(DNNL_ARG_WEIGHTS, d.weights_desc, "weights");
        const auto bias = tensor(DNNL_ARG_BIAS, d.bias_desc, "bias");
        const auto dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
        return octet::matmul::primitive_desc(octet::matmul::desc(src, weights, bias, dst), attr, engine);
    }
    case dnnl_pooling: {
        const auto &d = as<dnnl_pooling_desc_t>(desc, r);
        return pooling(d, memory::dims(spatial(d.strides, d.src_desc).size()), r, attr, engine);
    }
    case dnnl_pooling_v2: {
        const auto &d = as<dnnl_pooling_v2_desc_t>(desc, r);
        return pooling(d, spatial(d.dilation, d.src_desc), r, attr, engine);
    }
    case dnnl_eltwise: {
        const auto &d = as<dnnl_eltwise_desc_t>(desc, r);
        const auto prop = prop_of(r.prop = d.prop_kind);
        const auto data = tensor(DNNL_ARG_SRC, d.data_desc, "data");
        r.tensors[DNNL_ARG_DST] = d.data_desc;
        using op = octet::eltwise_forward;
        return op::primitive_desc(op::desc(prop, algorithm_of(d.alg_kind), data, d.alpha, d.beta), attr,
                                  engine);
    }
    case dnnl_softmax:
        return softmax(as<dnnl_softmax_desc_t>(desc, r), octet::algorithm::softmax_accurate, r, attr, engine);
    case dnnl_logsoftmax:
        return softmax(as<dnnl_softmax_desc_t>(desc, r), octet::algorithm::softmax_log, r, attr, engine);
    case dnnl_softmax_v2: {
        const auto &d = as<dnnl_softmax_v2_desc_t>(desc, r);
        const auto prop = prop_of(r.prop = d.prop_kind);
        const auto src = tensor(DNNL_ARG_SRC, d.src_desc, "src"),
                   dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
        using op = octet::softmax_forward;
        return op::primitive_desc(op::desc(prop, algorithm_of(d.alg_kind), src, dst, d.softmax_axis), attr,
                                  engine);
    }
    case dnnl_prelu: {
        const auto &d = as<dnnl_prelu_desc_t>(desc, r);
        const auto prop = prop_of(r.prop = d.prop_kind);
        const auto data = tensor(DNNL_ARG_SRC, d.data_desc, "data");
        r.tensors[DNNL_ARG_DST] = d.data_desc;
        const auto weights = tensor(DNNL_ARG_WEIGHTS, d.weights_desc, "weights");
        return octet::prelu_forward::primitive_desc(octet::prelu_forward::desc(prop, data, weights), attr,
                                                    engine);
    }
    case dnnl_binary: {
        const auto &d = as<dnnl_binary_desc_t>(desc, r);
        const auto src0 = tensor(DNNL_ARG_SRC_0, d.src_desc[0], "src0");
        const auto src1 = tensor(DNNL_ARG_SRC_1, d.src_desc[1], "src1");
        const auto dst = tensor(DNNL_ARG_DST, d.dst_desc, "dst");
        return octet::binary::primitive_desc(octet::binary::desc(algorithm_of(d.alg_kind), src0, src1, dst),
                                             attr, engine);
    }
    case dnnl_resampling:
        return resampling(as<dnnl_resampling_desc_t>(desc, r), r, attr, engine);
    case dnnl_batch_normalization:
        return batch_normalization(as<dnnl_batch_normalization_desc_t>(desc, r), r, attr, engine);
    case dnnl_layer_normalization:
        return layer_normalization(as<dnnl_layer_normalization_desc_t>(desc, r), r, attr, engine);
    case dnnl_reduction:
        return reduction(as<dnnl_reduction_desc_t>(desc, r), r, attr, engine);
    default:
        refuse(status::unimplemented,
               std::string(dnnl_prim_kind2str(r.kind)) + ": an operation of oneDNN that Octet does not have");
    }
}

const octet::primitive_attr &checked(const dnnl_primitive_attr &attr) {
    if (!attr.post_ops.depthwise.empty())
        refuse(status::unimplemented, "post_ops: a fused depthwise convolution");
    return attr.value;
}

/// What queries are answered from. A description of the client's is returned bit for bit where it left nothing open.
std::shared_ptr<const described> describe(const octet::primitive_desc_base &value, request &&r,
                                          const dnnl_primitive_attr &attr) {
    auto result = std::make_shared<described>();
    result->kind = r.kind == dnnl_logsoftmax ? dnnl_softmax : r.kind; // as in oneDNN
    result->prop = r.prop;
    result->op_desc = std::move(r.op_desc);
    result->attr = attr;
    result->value = value;
    result->implementation = "octet:" + value.impl_info_str();
    for (const int arg : value.args()) {
        const auto client = r.tensors.find(arg);
        const bool is_open = client == r.tensors.end() || client->second.format_kind == dnnl_format_kind_any;
        result->tensors[arg] = is_open ? desc_of(value.arg_desc(arg)) : client->second;
        if (dnnl_memory_desc_get_size(&result->tensors[arg]) == DNNL_RUNTIME_SIZE_VAL)
            result->open.push_back(arg);
        const bool is_attribute = arg > DNNL_ARG_WORKSPACE && arg < DNNL_ARG_MULTIPLE_SRC;
        if (arg != DNNL_ARG_DST && !is_attribute && arg < DNNL_ARG_MULTIPLE_DST)
            result->inputs++;
    }
    if (attr.value.get_scratchpad_mode() == octet::scratchpad_mode::user)
        result->tensors[DNNL_ARG_SCRATCHPAD] = desc_of(value.scratchpad_desc());
    return result;
}

/// Before more of a description is read than its first two fields: those of operations that Octet does not have end there.
void check_direction(dnnl_primitive_kind_t kind, const_dnnl_op_desc_t desc) {
    if (kind == dnnl_matmul || kind == dnnl_binary || kind == dnnl_reduction)
        return; // no direction
    try {
        prop_of(static_cast<const dnnl_rnn_desc_t *>(desc)->prop_kind);
    } catch (const octet::error &e) {
        refuse(e.status, std::string(dnnl_prim_kind2str(kind)) + ": " + e.what());
    }
}

dnnl_primitive_desc from_operation(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                   dnnl_engine_t engine) {
    static const dnnl_primitive_attr defaults;
    const dnnl_primitive_attr &attributes = attr == nullptr ? defaults : *attr;
    request r{*static_cast<const dnnl_primitive_kind_t *>(needed(desc, "desc")), {}, {}, {}};
    check_direction(r.kind, desc);
    const octet::primitive_desc_base value =
        make(desc, r, checked(attributes), needed(engine, "engine")->value);
    return {describe(value, std::move(r), attributes)};
}

/// Which argument a query by role and index means.
int argument_of(const described &pd, dnnl_query_t what, int index) {
    const bool has_many = pd.kind == dnnl_concat || pd.kind == dnnl_sum;
    const bool normalizes = pd.kind == dnnl_batch_normalization || pd.kind == dnnl_layer_normalization;
    if (normalizes && index > 0 && (what == dnnl_query_src_md || what == dnnl_query_dst_md))
        return DNNL_ARG_MEAN + index - 1; // mean and variance
    switch (what) {
    case dnnl_query_src_md:
        return (has_many ? DNNL_ARG_MULTIPLE_SRC : DNNL_ARG_SRC_0) + index;
    case dnnl_query_weights_md:
        return index == 1 ? DNNL_ARG_BIAS : DNNL_ARG_WEIGHTS_0 + index;
    case dnnl_query_dst_md:
        return DNNL_ARG_DST_0 + index;
    case dnnl_query_scratchpad_md:
        return index == 0 ? DNNL_ARG_SCRATCHPAD : 0;
    case dnnl_query_exec_arg_md:
        return index;
    default:
        return 0;
    }
}

bool is_md_query(dnnl_query_t what) {
    return (what > dnnl_query_some_md && what <= dnnl_query_scratchpad_md) || what == dnnl_query_exec_arg_md;
}

template <typename T> void answer(void *result, T value) {
    *static_cast<T *>(needed(result, "result")) = value;
}

void query(const described &pd, dnnl_query_t what, void *result) {
    switch (what) {
    case dnnl_query_engine:
    case dnnl_query_scratchpad_engine:
        return answer(result, the_engine());
    case dnnl_query_reorder_src_engine:
    case dnnl_query_reorder_dst_engine:
        if (pd.kind != dnnl_reorder)
            break;
        return answer(result, the_engine());
    case dnnl_query_primitive_kind:
        return answer(result, pd.kind);
    case dnnl_query_prop_kind:
        return answer(result, pd.prop);
    case dnnl_query_num_of_inputs_s32:
        return answer(result, pd.inputs);
    case dnnl_query_num_of_outputs_s32:
        return answer(result, 1);
    case dnnl_query_memory_consumption_s64:
        return answer(result,
                      static_cast<dnnl_dim_t>(pd.value.query_s64(octet::query::memory_consumption_s64)));
    case dnnl_query_cache_blob_id_size_s64:
        return answer(result, dnnl_dim_t{0});
    case dnnl_query_cache_blob_id:
        return answer(result, static_cast<const std::uint8_t *>(nullptr));
    case dnnl_query_impl_info_str:
        return answer(result, pd.implementation.c_str());
    default:
        if (what > dnnl_query_some_d && what < dnnl_query_some_md && !pd.op_desc.empty())
            return answer(result, static_cast<const_dnnl_op_desc_t>(pd.op_desc.data()));
    }
    refuse(status::unimplemented, "query " + std::to_string(what) + " of " + dnnl_prim_kind2str(pd.kind));
}

template <typename Make> dnnl_status_t created(dnnl_primitive_desc_t *pd, Make make) {
    return guarded([&] { *needed(pd, "pd") = new dnnl_primitive_desc{make()}; });
}

} // namespace

dnnl_status_t dnnl_primitive_desc_iterator_create(dnnl_primitive_desc_iterator_t *iterator,
                                                  const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                                  dnnl_engine_t engine, const_dnnl_primitive_desc_t) {
    return guarded([&] {
        *needed(iterator, "iterator") = new dnnl_primitive_desc_iterator{from_operation(desc, attr, engine)};
    });
}
dnnl_status_t dnnl_primitive_desc_iterator_next(dnnl_primitive_desc_iterator_t iterator) {
    if (iterator == nullptr)
        return dnnl_invalid_arguments;
    iterator->ended = true;
    return dnnl_iterator_ends;
}
dnnl_primitive_desc_t dnnl_primitive_desc_iterator_fetch(const_dnnl_primitive_desc_iterator_t iterator) {
    dnnl_primitive_desc_t result = nullptr;
    if (iterator != nullptr && !iterator->ended)
        created(&result, [&] { return iterator->current; });
    return result;
}
dnnl_status_t dnnl_primitive_desc_iterator_destroy(dnnl_primitive_desc_iterator_t iterator) {
    delete iterator;
    return dnnl_success;
}

dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t desc,
                                         const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                         const_dnnl_primitive_desc_t) {
    return created(pd, [&] { return from_operation(desc, attr, engine); });
}

/// Blocked layouts, and more dimensions than Octet's, as plain views of the same elements; masks would not fit those.
dnnl_status_t dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *src,
                                                 dnnl_engine_t src_engine, const dnnl_memory_desc_t *dst,
                                                 dnnl_engine_t dst_engine, const_dnnl_primitive_attr_t attr) {
    return created(pd, [&] {
        static const dnnl_primitive_attr defaults;
        const dnnl_primitive_attr &attributes = attr == nullptr ? defaults : *attr;
        needed(src, "src");
        needed(dst, "dst");
        plain_pair tensors;
        if (is_blocked(*src) || is_blocked(*dst) || src->ndims > octet::max_ndims) {
            int mask = attributes.value.output_scales().mask;
            for (const auto &[arg, zero_points] : attributes.value.zero_points())
                mask |= zero_points.mask;
            if (mask != 0 || attributes.post_ops.value.len() > 0)
                refuse(status::unimplemented,
                       "reorder: masks and post-ops with blocked layouts or more than 6 "
                       "dimensions");
            tensors = plain_views(*src, *dst);
        } else {
            tensors = {desc_of(*src, "src"), desc_of(*dst, "dst")};
        }
        const octet::reorder::primitive_desc value(needed(src_engine, "src_engine")->value, tensors.src,
                                                   needed(dst_engine, "dst_engine")->value, tensors.dst,
                                                   checked(attributes));
        return dnnl_primitive_desc{describe(
            value, {dnnl_reorder, dnnl_prop_kind_undef, {{DNNL_ARG_FROM, *src}, {DNNL_ARG_TO, *dst}}, {}},
            attributes)};
    });
}

namespace {

/// concat and sum: without a destination it has the first source's layout.
template <typename With, typename Without>
dnnl_status_t of_many(dnnl_primitive_desc_t *pd, dnnl_primitive_kind_t kind, const dnnl_memory_desc_t *dst,
                      int n, const dnnl_memory_desc_t *srcs, const_dnnl_primitive_attr_t attr, With with,
                      Without without) {
    return created(pd, [&] {
        static const dnnl_primitive_attr defaults;
        const dnnl_primitive_attr &attributes = attr == nullptr ? defaults : *attr;
        request r{kind, {}, {}, {}};
        const tensors_of tensor(r);
        std::vector<memory::desc> sources;
        for (int i = 0; i < n; i++)
            sources.push_back(tensor(DNNL_ARG_MULTIPLE_SRC + i, needed(srcs, "srcs")[i], "src"));
        const octet::primitive_desc_base value =
            dst == nullptr || dst->ndims == 0
                ? without(sources, checked(attributes))
                : with(tensor(DNNL_ARG_DST, *dst, "dst"), sources, checked(attributes));
        return dnnl_primitive_desc{describe(value, std::move(r), attributes)};
    });
}

} // namespace

dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst,
                                                int n, int dimension, const dnnl_memory_desc_t *srcs,
                                                const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    using op = octet::concat::primitive_desc;
    return of_many(
        pd, dnnl_concat, dst, n, srcs, attr,
        [&](const auto &to, const auto &from, const auto &a) {
            return op(to, dimension, from, needed(engine, "engine")->value, a);
        },
        [&](const auto &from, const auto &a) {
            return op(dimension, from, needed(engine, "engine")->value, a);
        });
}
dnnl_status_t dnnl_sum_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *dst, int n,
                                             const float *scales, const dnnl_memory_desc_t *srcs,
                                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine) {
    using op = octet::sum::primitive_desc;
    const auto factors = [&] { return std::vector<float>(needed(scales, "scales"), scales + n); };
    return of_many(
        pd, dnnl_sum, dst, n, srcs, attr,
        [&](const auto &to, const auto &from, const auto &a) {
            return op(to, factors(), from, needed(engine, "engine")->value, a);
        },
        [&](const auto &from, const auto &a) {
            return op(factors(), from, needed(engine, "engine")->value, a);
        });
}

dnnl_status_t dnnl_primitive_desc_clone(dnnl_primitive_desc_t *pd, const_dnnl_primitive_desc_t from) {
    return created(pd, [&] { return *needed(from, "pd"); });
}
dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t pd,
                                           const_dnnl_primitive_attr_t *attr) {
    return guarded([&] { *needed(attr, "attr") = &needed(pd, "pd")->content->attr; });
}
dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index,
                                        void *result) {
    return guarded([&] {
        if (is_md_query(what))
            return answer(result, dnnl_primitive_desc_query_md(needed(pd, "pd"), what, index));
        query(*needed(pd, "pd")->content, what, result);
    });
}
/// Tensors that the primitive does not have have the zero descriptor.
const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what,
                                                       int index) {
    static const dnnl_memory_desc_t zero{};
    if (pd == nullptr || !is_md_query(what))
        return nullptr;
    const auto found = pd->content->tensors.find(argument_of(*pd->content, what, index));
    return found == pd->content->tensors.end() ? &zero : &found->second;
}
int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index) {
    int result = 0;
    if (what != dnnl_query_num_of_inputs_s32 && what != dnnl_query_num_of_outputs_s32)
        return 0;
    return dnnl_primitive_desc_query(pd, what, index, &result) == dnnl_success ? result : 0;
}
dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t pd) {
    delete pd;
    return dnnl_success;
}
