// A descriptor's fields are public, so a caller can write anything into them. Here every field of every tensor
// of every operation gets every value of a list of bad and borderline ones, and the result goes through all
// doors: the descriptor's own functions, memory, primitive descriptors, and execution where it is accepted. Each
// call works or throws octet::error; nothing else may happen (the address sanitizer sees what does).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using dt = data_type;
using tag = format_tag;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr dim_t lowest = std::numeric_limits<dim_t>::min(), highest = std::numeric_limits<dim_t>::max();
constexpr dim_t values[] = {
    lowest,         -(dim_t{1} << 40), -1,     0, 1, 2, 3, 4, 5, 7, 8, 16, 99, dim_t{1} << 31,
    dim_t{1} << 40, dim_t{1} << 56,    highest};

struct field {
    std::string name;
    std::function<void(memory_desc &, dim_t)> set;
};

std::vector<field> all_fields() {
    std::vector<field> f{
        {"ndims", [](memory_desc &md, dim_t v) { md.ndims = static_cast<int>(v); }},
        {"data_type", [](memory_desc &md, dim_t v) { md.data_type = static_cast<data_type>(v); }},
        {"format_kind", [](memory_desc &md, dim_t v) { md.format_kind = static_cast<format_kind>(v); }},
        {"offset0", [](memory_desc &md, dim_t v) { md.offset0 = v; }},
        {"packed_kind", [](memory_desc &md, dim_t v) { md.packed_kind = static_cast<packed_kind>(v); }},
        {"packed_groups", [](memory_desc &md, dim_t v) { md.packed_groups = v; }},
        {"packed_width", [](memory_desc &md, dim_t v) { md.packed_width = v; }},
        {"patches.height", [](memory_desc &md, dim_t v) { md.packed_patches.height = v; }},
        {"patches.row_phases", [](memory_desc &md, dim_t v) { md.packed_patches.row_phases = v; }},
        {"patches.row_shift", [](memory_desc &md, dim_t v) { md.packed_patches.row_shift = v; }},
        {"patches.column_phases", [](memory_desc &md, dim_t v) { md.packed_patches.column_phases = v; }},
        {"patches.column_shift", [](memory_desc &md, dim_t v) { md.packed_patches.column_shift = v; }},
    };
    for (int d = 0; d < max_ndims; d++) {
        f.push_back({"dims " + std::to_string(d), [d](memory_desc &md, dim_t v) { md.dims[d] = v; }});
        f.push_back({"strides " + std::to_string(d), [d](memory_desc &md, dim_t v) { md.strides[d] = v; }});
    }
    for (int a = 0; a < 3; a++)
        f.push_back(
            {"steps " + std::to_string(a), [a](memory_desc &md, dim_t v) { md.packed_steps[a] = v; }});
    return f;
}

using descriptors = std::vector<memory::desc>;

/// An operation with good descriptors, of which one at a time is spoilt.
struct operation {
    std::string name;
    descriptors tensors;
    std::function<primitive_desc(const descriptors &)> make;
};

memory::desc md(const memory::dims &dims, dt type, tag layout) { return {dims, type, layout}; }

primitive_desc convolution(const descriptors &t, const memory::dims &strides) {
    return convolution_forward::primitive_desc(
        convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, t[0], t[1],
                                  t[2], t[3], strides, {1, 1}, {1, 1}),
        cpu);
}
primitive_desc deconvolution(const descriptors &t) {
    return deconvolution_forward::primitive_desc(
        deconvolution_forward::desc(prop_kind::forward_inference, algorithm::deconvolution_direct, t[0], t[1],
                                    t[2], t[3], {2, 2}, {1, 1}, {1, 1}),
        cpu);
}

/// The operation with its weights as they are, in layout `any` and packed.
void add_with_packed(std::vector<operation> &all, operation o) {
    all.push_back(o);
    o.name += ", any";
    o.tensors[1] = memory::desc(o.tensors[1].dims(), o.tensors[1].data_type(), tag::any);
    all.push_back(o);
    o.name += ", packed";
    o.tensors[1] = o.make(o.tensors).weights_desc();
    all.push_back(o);
}

std::vector<operation> accumulating_operations() {
    std::vector<operation> all;
    const memory::desc bias = md({8}, dt::s32, tag::x);
    add_with_packed(all, {"convolution",
                          {md({1, 3, 6, 6}, dt::u8, tag::nhwc), md({8, 3, 3, 3}, dt::s8, tag::oihw), bias,
                           md({1, 8, 6, 6}, dt::u8, tag::nhwc)},
                          [](const descriptors &t) {
                              return convolution(t, {1, 1});
                          }});
    add_with_packed(all, {"grouped convolution",
                          {md({1, 8, 6, 6}, dt::u8, tag::nhwc), md({4, 2, 2, 3, 3}, dt::s8, tag::goihw), bias,
                           md({1, 8, 6, 6}, dt::u8, tag::nhwc)},
                          [](const descriptors &t) {
                              return convolution(t, {1, 1});
                          }});
    for (const dim_t stride : {1, 2})
        add_with_packed(all, {"depthwise convolution, stride " + std::to_string(stride),
                              {md({1, 8, 6, 6}, dt::u8, tag::nhwc), md({8, 1, 1, 3, 3}, dt::s8, tag::goihw),
                               bias, md({1, 8, 6 / stride, 6 / stride}, dt::u8, tag::nhwc)},
                              [=](const descriptors &t) {
                                  return convolution(t, {stride, stride});
                              }});
    for (const bool is_depthwise : {false, true})
        add_with_packed(all, {is_depthwise ? "depthwise convolution of f32" : "convolution of f32",
                              {md({1, 8, 6, 6}, dt::f32, tag::nhwc),
                               is_depthwise ? md({8, 1, 1, 3, 3}, dt::f32, tag::goihw)
                                            : md({8, 8, 3, 3}, dt::f32, tag::oihw),
                               md({8}, dt::f32, tag::x), md({1, 8, 6, 6}, dt::u8, tag::nhwc)},
                              [](const descriptors &t) {
                                  return convolution(t, {1, 1});
                              }});
    add_with_packed(all, {"deconvolution",
                          {md({1, 3, 4, 4}, dt::u8, tag::nhwc), md({8, 3, 3, 3}, dt::s8, tag::oihw), bias,
                           md({1, 8, 7, 7}, dt::u8, tag::nhwc)},
                          deconvolution});
    add_with_packed(all, {"depthwise deconvolution",
                          {md({1, 8, 4, 4}, dt::u8, tag::nhwc), md({8, 1, 1, 3, 3}, dt::s8, tag::goihw), bias,
                           md({1, 8, 7, 7}, dt::u8, tag::nhwc)},
                          deconvolution});
    add_with_packed(
        all, {"inner product",
              {md({2, 5, 2, 2}, dt::u8, tag::nhwc), md({8, 5, 2, 2}, dt::s8, tag::oihw), bias,
               md({2, 8}, dt::u8, tag::nc)},
              [](const descriptors &t) {
                  return inner_product_forward::primitive_desc(
                      inner_product_forward::desc(prop_kind::forward_inference, t[0], t[1], t[2], t[3]), cpu);
              }});
    add_with_packed(all, {"matmul",
                          {md({2, 3, 5}, dt::u8, tag::abc), md({2, 5, 8}, dt::s8, tag::abc),
                           md({1, 1, 8}, dt::s32, tag::abc), md({2, 3, 8}, dt::u8, tag::abc)},
                          [](const descriptors &t) {
                              return matmul::primitive_desc(matmul::desc(t[0], t[1], t[2], t[3]), cpu);
                          }});
    return all;
}

std::vector<operation> other_operations() {
    constexpr prop_kind forward = prop_kind::forward_inference;
    const memory::desc a = md({2, 3, 4, 4}, dt::s8, tag::nhwc), b = md({2, 3, 4, 4}, dt::u8, tag::nchw),
                       row = md({1, 3, 1, 1}, dt::s8, tag::nchw);
    const memory::desc any = md({2, 3, 4, 4}, dt::s8, tag::any);
    const memory::desc packed =
        convolution({md({1, 3, 6, 6}, dt::u8, tag::nhwc), md({8, 3, 3, 3}, dt::s8, tag::any), memory::desc(),
                     md({1, 8, 6, 6}, dt::u8, tag::nhwc)},
                    {1, 1})
            .weights_desc();
    const auto reorder_of = [](const descriptors &t) {
        return reorder::primitive_desc(cpu, t[0], cpu, t[1]);
    };
    return {
        {"reorder", {a, b}, reorder_of},
        {"reorder to packed", {md({8, 3, 3, 3}, dt::s8, tag::hwio), packed}, reorder_of},
        {"reorder from packed", {packed, md({8, 3, 3, 3}, dt::s8, tag::hwio)}, reorder_of},
        {"pooling",
         {a, md({2, 3, 2, 2}, dt::s8, tag::nhwc)},
         [](const descriptors &t) {
             return pooling_forward::primitive_desc(
                 pooling_forward::desc(forward, algorithm::pooling_avg_exclude_padding, t[0], t[1], {2, 2},
                                       {3, 3}, {1, 1}, {0, 0}),
                 cpu);
         }},
        {"eltwise",
         {a, any},
         [](const descriptors &t) {
             return eltwise_forward::primitive_desc(
                 eltwise_forward::desc(forward, algorithm::eltwise_relu, t[0], t[1], 0.f), cpu);
         }},
        {"binary",
         {a, row, b},
         [](const descriptors &t) {
             return binary::primitive_desc(binary::desc(algorithm::binary_add, t[0], t[1], t[2]), cpu);
         }},
        {"post-op binary",
         {a, row, b},
         [](const descriptors &t) {
             post_ops ops;
             ops.append_binary(algorithm::binary_mul, t[1]);
             primitive_attr attr;
             attr.set_post_ops(ops);
             return eltwise_forward::primitive_desc(
                 eltwise_forward::desc(forward, algorithm::eltwise_relu, t[0], t[2], 0.f), attr, cpu);
         }},
        {"sum",
         {a, b, any},
         [](const descriptors &t) {
             return sum::primitive_desc(t[2], {1.f, 0.5f}, {t[0], t[1]}, cpu);
         }},
        {"concat",
         {a, b, md({2, 6, 4, 4}, dt::s8, tag::nhwc)},
         [](const descriptors &t) {
             return concat::primitive_desc(t[2], 1, {t[0], t[1]}, cpu);
         }},
        {"concat without dst",
         {a, a},
         [](const descriptors &t) {
             return concat::primitive_desc(1, {t[0], t[1]}, cpu);
         }},
        {"softmax",
         {a, b},
         [](const descriptors &t) {
             return softmax_forward::primitive_desc(
                 softmax_forward::desc(forward, algorithm::softmax_accurate, t[0], t[1], 1), cpu);
         }},
        {"batch normalization",
         {md({2, 3, 4, 4}, dt::f32, tag::nhwc), md({2, 3, 4, 4}, dt::f32, tag::any)},
         [](const descriptors &t) {
             return batch_normalization_forward::primitive_desc(
                 batch_normalization_forward::desc(forward, t[0], t[1], 1e-3f,
                                                   normalization_flags::use_global_stats),
                 cpu);
         }},
        {"layer normalization",
         {md({2, 3, 4}, dt::f32, tag::abc), md({2, 3, 4}, dt::f32, tag::acb), md({2, 3}, dt::f32, tag::ba)},
         [](const descriptors &t) {
             return layer_normalization_forward::primitive_desc(
                 layer_normalization_forward::desc(forward, t[0], t[1], t[2], 1e-3f,
                                                   normalization_flags::use_global_stats),
                 cpu);
         }},
        {"reduction",
         {a, md({2, 1, 4, 1}, dt::f32, tag::any)},
         [](const descriptors &t) {
             return reduction::primitive_desc(
                 reduction::desc(algorithm::reduction_mean, t[0], t[1], 0.f, 0.f), cpu);
         }},
        {"prelu",
         {a, row, b},
         [](const descriptors &t) {
             return prelu_forward::primitive_desc(prelu_forward::desc(forward, t[0], t[1], t[2]), cpu);
         }},
        {"resampling",
         {a, md({2, 3, 7, 7}, dt::s8, tag::nhwc)},
         [](const descriptors &t) {
             return resampling_forward::primitive_desc(
                 resampling_forward::desc(forward, algorithm::resampling_linear, t[0], t[1]), cpu);
         }},
        {"resampling by factors",
         {a},
         [](const descriptors &t) {
             return resampling_forward::primitive_desc(
                 resampling_forward::desc(forward, algorithm::resampling_linear, {2.f, 1.5f}, t[0]), cpu);
         }},
    };
}

/// True if the call went through, false if it refused.
template <typename Call> bool works(const Call &call) {
    try {
        call();
        return true;
    } catch (const error &e) {
        EXPECT_NE(std::string(e.what()), "");
        return false;
    }
}

/// The functions that a descriptor has itself, and memory.
void use(const memory::desc &spoilt) {
    constexpr std::size_t small = 1 << 20;
    works([&] { (void)spoilt.to_string(); });
    works([&] { (void)spoilt.dims(); });
    works([&] { (void)spoilt.get_strides(); });
    works([&] { (void)(spoilt == memory::desc(spoilt)); });
    works([&] { (void)spoilt.submemory_desc({1, 1, 1, 1}, {0, 0, 0, 0}); });
    works([&] { (void)spoilt.reshape({8, 27}).get_size(); });
    works([&] { (void)spoilt.permute_axes({1, 0, 2, 3}).get_size(); });
    works([&] { (void)memory(spoilt, cpu, nullptr); });
    works([&] {
        if (spoilt.get_size() <= small)
            (void)memory(spoilt, cpu);
    });
}

void execute(const primitive_desc &pd) {
    constexpr std::size_t small = 1 << 20;
    std::unordered_map<int, memory> args;
    for (const int arg : {OCTET_ARG_SRC, OCTET_ARG_SRC_1, OCTET_ARG_WEIGHTS, OCTET_ARG_BIAS, OCTET_ARG_DST,
                          OCTET_ARG_MULTIPLE_SRC, OCTET_ARG_MULTIPLE_SRC + 1,
                          OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1}) {
        const memory::desc expected = pd.query_md(query::exec_arg_md, arg);
        if (expected.is_zero())
            continue;
        if (expected.get_size() > small)
            return;
        args[arg] = memory(expected, cpu);
        if (expected.get_size() > 0)
            std::memset(args[arg].get_data_handle(), 0, expected.get_size());
    }
    primitive(pd).execute(stream(cpu), args);
}

void spoil_everything(const std::vector<operation> &operations) {
    const std::vector<field> fields = all_fields();
    int accepted = 0, refused = 0;
    for (const operation &o : operations)
        for (std::size_t i = 0; i < o.tensors.size(); i++)
            for (const field &f : fields)
                for (const dim_t value : values) {
                    SCOPED_TRACE(o.name + ", tensor " + std::to_string(i) + ": " + f.name + " = " +
                                 std::to_string(value));
                    descriptors spoilt = o.tensors;
                    f.set(spoilt[i].data, value);
                    use(spoilt[i]);
                    (works([&] {
                        const primitive_desc pd = o.make(spoilt);
                        (void)pd.problem_str();
                        execute(pd);
                    })
                         ? accepted
                         : refused)++;
                }
    EXPECT_GT(refused, 1000);
    EXPECT_GT(accepted, 100) << "unused fields and equal values";
}

TEST(descriptor_fuzz, accumulating_operations_work_or_refuse) { spoil_everything(accumulating_operations()); }

/// The buffer of such a bias would have no bytes.
TEST(descriptor_fuzz, a_bias_without_layout_is_refused) {
    memory::desc bias = md({8}, data_type::s32, format_tag::a);
    bias.data.format_kind = format_kind::undef;
    test::expect_invalid(
        [&] {
            inner_product_forward::primitive_desc(
                cpu, prop_kind::forward_inference, md({2, 5}, data_type::u8, format_tag::nc),
                md({8, 5}, data_type::s8, format_tag::oi), bias, md({2, 8}, data_type::u8, format_tag::nc));
        },
        {"inner_product: bias has no layout"});
}
TEST(descriptor_fuzz, other_operations_work_or_refuse) { spoil_everything(other_operations()); }

TEST(descriptor_check, names_the_field_what_is_given_and_what_is_allowed) {
    const auto spoilt = [](const auto &change) {
        memory::desc d = md({1, 3, 6, 6}, dt::u8, tag::nhwc);
        change(d.data);
        return d;
    };
    const auto refuse = [&](const auto &change, std::initializer_list<std::string_view> words) {
        expect_invalid([&] { memory(spoilt(change), cpu); }, words);
    };
    refuse([](memory_desc &d) { d.ndims = 99; }, {"memory", "ndims is 99", "0 to 6"});
    refuse([](memory_desc &d) { d.dims[2] = -4; }, {"dimension 2 is -4", "0 and above"});
    refuse([](memory_desc &d) { d.strides[1] = -1; }, {"stride 1 is -1", "0 and above"});
    refuse([](memory_desc &d) { d.offset0 = -1; }, {"offset0 is -1"});
    refuse([](memory_desc &d) { d.data_type = static_cast<data_type>(77); },
           {"data_type is 77", "allowed: f16"});
    refuse([](memory_desc &d) { d.format_kind = static_cast<format_kind>(9); },
           {"format_kind is 9", "packed"});
    refuse([](memory_desc &d) { d.packed_width = 3; }, {"packed_* fields"});
    refuse([](memory_desc &d) { d.dims[0] = d.dims[1] = dim_t{1} << 40; }, {"overflow"});
    refuse([](memory_desc &d) { d.strides[0] = highest, d.dims[0] = 2; }, {"overflow"});
}

TEST(descriptor_check, packed_layouts_are_those_that_octet_makes) {
    for (const operation &o : accumulating_operations()) {
        if (o.tensors[1].get_format_kind() != format_kind::packed)
            continue;
        SCOPED_TRACE(o.name);
        EXPECT_TRUE(memory(o.tensors[1], cpu));
        memory::desc spoilt = o.tensors[1];
        spoilt.data.packed_width = 0;
        expect_invalid([&] { memory(spoilt, cpu); }, {"memory", "packed_width 0", "none that Octet makes"});
    }
}

TEST(descriptor_check, names_may_be_null) {
    expect_invalid([] { requantization_rule_from_string(nullptr); }, {"null"});
}

} // namespace
