// Weights that Octet has packed, in the hands of a client (run with liboctet_dnnl in front).
//
// refused   every primitive of oneDNN gets them in place of each of its tensors, in a child process of its
// own: a status, never a
//           signal, because oneDNN would read them as a layout of its own.
// stable    one layout per shape of weights, whatever else a problem has: what was packed with one problem in
// mind (PyTorch
//           packs with a dummy of 12 x 12 pixels) is what every other one asks for.
// kept      they can be sized, allocated, compared, mapped and unpacked, also after a client has rebuilt
// their descriptor.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace {

using namespace dnnl;
using dt = memory::data_type;
using tag = memory::format_tag;

const engine cpu(engine::kind::cpu, 0);
int failures = 0;

void expect(bool holds, const std::string &what) {
    if (holds)
        return;
    failures++;
    std::cout << "FAILED: " << what << '\n';
}

memory::desc packed_weights() {
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                      {{1, 8, 6, 6}, dt::u8, tag::any}, {{16, 8, 3, 3}, dt::s8, tag::any},
                                      {{1, 16, 4, 4}, dt::u8, tag::any}, {1, 1}, {0, 0}, {0, 0});
    return convolution_forward::primitive_desc(d, cpu).weights_desc();
}

// ---- refused

/// A way to hand `w` to a primitive: makes and runs it if it can be made.
struct attempt {
    std::string name;
    std::function<void(const memory::desc &w)> run;
};

/// Runs what was made on memory of the sizes that it asks for.
template <typename Primitive, typename Desc> void execute(const Desc &pd, const std::vector<int> &args) {
    std::unordered_map<int, memory> memories;
    for (const int arg : args)
        if (const memory::desc md = pd.query_md(query::exec_arg_md, arg); md.get_size() != 0)
            memories[arg] = memory(md, cpu);
    stream s(cpu);
    Primitive(pd).execute(s, memories);
}

const std::vector<int> every_arg{
    DNNL_ARG_SRC,       DNNL_ARG_SRC_1,        DNNL_ARG_WEIGHTS,         DNNL_ARG_BIAS,
    DNNL_ARG_DST,       DNNL_ARG_MEAN,         DNNL_ARG_VARIANCE,        DNNL_ARG_SCALE_SHIFT,
    DNNL_ARG_WORKSPACE, DNNL_ARG_MULTIPLE_SRC, DNNL_ARG_MULTIPLE_SRC + 1};

template <typename Primitive> void make(const typename Primitive::desc &d, const primitive_attr &attr = {}) {
    execute<Primitive>(typename Primitive::primitive_desc(d, attr, cpu), every_arg);
}

std::vector<attempt> attempts() {
    const prop_kind forward = prop_kind::forward_inference;
    const memory::desc image({16, 8, 3, 3}, dt::s8, tag::nchw), f32({16, 8, 3, 3}, dt::f32, tag::nchw);
    const memory::desc filter({8, 8, 3, 3}, dt::s8, tag::oihw), out({16, 8, 1, 1}, dt::s8, tag::nchw);
    const memory::dims ones{1, 1}, zeros{0, 0}, threes{3, 3};
    const auto direct = algorithm::convolution_direct;
    const auto eltwise_with = [](const memory::desc &src1) {
        primitive_attr attr;
        post_ops ops;
        ops.append_binary(algorithm::binary_add, src1);
        attr.set_post_ops(ops);
        return attr;
    };
    return {
        {"convolution src",
         [=](auto &w) {
             make<convolution_forward>({forward, direct, w, filter, out, ones, zeros, zeros});
         }},
        {"convolution dst",
         [=](auto &w) {
             make<convolution_forward>(
                 {forward, direct, {{16, 8, 5, 5}, dt::u8, tag::nchw}, filter, w, ones, zeros, zeros});
         }},
        {"convolution f32",
         [=](auto &w) {
             make<convolution_forward>({forward,
                                        direct,
                                        {{1, 8, 6, 6}, dt::f32, tag::nchw},
                                        w,
                                        {{1, 16, 4, 4}, dt::f32, tag::nchw},
                                        ones,
                                        zeros,
                                        zeros});
         }},
        {"convolution bias",
         [=](auto &w) {
             make<convolution_forward>({forward, direct, image, filter, w, out, ones, zeros, zeros});
         }},
        {"convolution of another shape",
         [=](auto &w) {
             make<convolution_forward>({forward,
                                        direct,
                                        {{1, 16, 6, 6}, dt::u8, tag::nhwc},
                                        w,
                                        {{1, 16, 4, 4}, dt::u8, tag::nhwc},
                                        ones,
                                        zeros,
                                        zeros});
         }},
        {"deconvolution weights",
         [=](auto &w) {
             make<deconvolution_forward>({forward,
                                          algorithm::deconvolution_direct,
                                          {{1, 8, 4, 4}, dt::u8, tag::nhwc},
                                          w,
                                          {{1, 16, 6, 6}, dt::u8, tag::nhwc},
                                          ones,
                                          zeros,
                                          zeros});
         }},
        {"deconvolution src",
         [=](auto &w) {
             make<deconvolution_forward>({forward,
                                          algorithm::deconvolution_direct,
                                          w,
                                          {{8, 8, 1, 1}, dt::s8, tag::oihw},
                                          image,
                                          ones,
                                          zeros,
                                          zeros});
         }},
        {"inner_product src",
         [=](auto &w) {
             make<inner_product_forward>({forward, w, filter, {{16, 8}, dt::s8, tag::nc}});
         }},
        {"inner_product f32",
         [=](auto &w) {
             make<inner_product_forward>(
                 {forward, {{2, 8, 3, 3}, dt::f32, tag::nchw}, w, {{2, 16}, dt::f32, tag::nc}});
         }},
        {"matmul weights",
         [=](auto &w) {
             make<matmul>({memory::desc{{16, 8, 2, 3}, dt::u8, tag::abcd}, w,
                           memory::desc{{16, 8, 2, 3}, dt::u8, tag::abcd}});
         }},
        {"matmul src",
         [=](auto &w) {
             make<matmul>({w, image, image});
         }},
        {"matmul dst",
         [=](auto &w) {
             make<matmul>({image, image, w});
         }},
        {"eltwise",
         [=](auto &w) {
             make<eltwise_forward>({forward, algorithm::eltwise_relu, w, 0.f});
         }},
        {"eltwise with a binary post-op",
         [=](auto &w) {
             make<eltwise_forward>({forward, algorithm::eltwise_relu, image, 0.f}, eltwise_with(w));
         }},
        {"eltwise f32 with a binary post-op",
         [=](auto &w) {
             make<eltwise_forward>({forward, algorithm::eltwise_relu, f32, 0.f}, eltwise_with(w));
         }},
        {"binary src 0",
         [=](auto &w) {
             make<binary>({algorithm::binary_add, w, image, image});
         }},
        {"binary src 1",
         [=](auto &w) {
             make<binary>({algorithm::binary_add, image, w, image});
         }},
        {"binary dst",
         [=](auto &w) {
             make<binary>({algorithm::binary_add, image, image, w});
         }},
        {"pooling src",
         [=](auto &w) {
             make<pooling_forward>({forward, algorithm::pooling_max, w, out, ones, threes, zeros, zeros});
         }},
        {"pooling_v2 src",
         [=](auto &w) {
             make<pooling_v2_forward>(
                 {forward, algorithm::pooling_max, w, out, ones, threes, zeros, zeros, zeros});
         }},
        {"pooling dst",
         [=](auto &w) {
             make<pooling_forward>({forward,
                                    algorithm::pooling_max,
                                    {{16, 8, 5, 5}, dt::s8, tag::nchw},
                                    w,
                                    ones,
                                    threes,
                                    zeros,
                                    zeros});
         }},
        {"softmax",
         [=](auto &w) {
             make<softmax_forward>({forward, w, 1});
         }},
        {"logsoftmax",
         [=](auto &w) {
             make<logsoftmax_forward>({forward, w, 1});
         }},
        {"softmax_v2",
         [=](auto &w) {
             make<softmax_v2_forward>({forward, algorithm::softmax_accurate, w, image, 1});
         }},
        {"softmax_v2 dst",
         [=](auto &w) {
             make<softmax_v2_forward>({forward, algorithm::softmax_accurate, image, w, 1});
         }},
        {"prelu data",
         [=](auto &w) {
             make<prelu_forward>({forward, w, image});
         }},
        {"prelu weights",
         [=](auto &w) {
             make<prelu_forward>({forward, image, w});
         }},
        {"shuffle",
         [=](auto &w) {
             execute<shuffle_forward>(
                 shuffle_forward::primitive_desc(shuffle_forward::desc(forward, w, 1, 2), cpu), every_arg);
         }},
        {"lrn",
         [=](auto &w) {
             make<lrn_forward>({forward, algorithm::lrn_across_channels, w, 3, 1.f, 0.75f, 1.f});
         }},
        {"batch_normalization",
         [=](auto &w) {
             make<batch_normalization_forward>({forward, w, 1e-5f, normalization_flags::none});
         }},
        {"layer_normalization",
         [=](auto &w) {
             make<layer_normalization_forward>({forward, w, 1e-5f, normalization_flags::none});
         }},
        {"resampling",
         [=](auto &w) {
             make<resampling_forward>(
                 {forward, algorithm::resampling_nearest, w, memory::desc({16, 8, 6, 6}, dt::s8, tag::nchw)});
         }},
        {"reduction",
         [=](auto &w) {
             make<reduction>({algorithm::reduction_sum, w, {{16, 8, 1, 1}, dt::s32, tag::nchw}, 0.f, 0.f});
         }},
        {"concat src",
         [=](auto &w) {
             execute<concat>(concat::primitive_desc(1, {image, w}, cpu), every_arg);
         }},
        {"concat dst",
         [=](auto &w) {
             const memory::desc half({16, 4, 3, 3}, dt::s8, tag::nchw);
             execute<concat>(concat::primitive_desc(w, 1, {half, half}, cpu), every_arg);
         }},
        {"concat f32",
         [=](auto &w) {
             execute<concat>(concat::primitive_desc(1, {f32, w}, cpu), every_arg);
         }},
        {"sum src",
         [=](auto &w) {
             execute<sum>(sum::primitive_desc({1.f, 1.f}, {image, w}, cpu), every_arg);
         }},
        {"sum dst",
         [=](auto &w) {
             execute<sum>(sum::primitive_desc(w, {1.f, 1.f}, {image, image}, cpu), every_arg);
         }},
        {"reorder with a wrong shape",
         [=](auto &w) {
             execute<reorder>(reorder::primitive_desc(cpu, out, cpu, w), {DNNL_ARG_FROM, DNNL_ARG_TO});
         }},
        {"backward data",
         [=](auto &w) {
             const memory::desc src({1, 8, 6, 6}, dt::f32, tag::nchw), dst({1, 16, 4, 4}, dt::f32, tag::nchw);
             const convolution_forward::primitive_desc hint({prop_kind::forward_training,
                                                             direct,
                                                             src,
                                                             {{16, 8, 3, 3}, dt::f32, tag::oihw},
                                                             dst,
                                                             ones,
                                                             zeros,
                                                             zeros},
                                                            cpu);
             convolution_backward_data::primitive_desc({direct, src, w, dst, ones, zeros, zeros}, cpu, hint);
         }},
        {"vanilla rnn",
         [=](auto &w) {
             const memory::desc layer({2, 3, 4}, dt::f32, tag::tnc), none;
             vanilla_rnn_forward::primitive_desc({forward, algorithm::eltwise_tanh,
                                                  rnn_direction::unidirectional_left2right, layer, none, w, w,
                                                  none, layer, none},
                                                 cpu);
         }},
    };
}

void test_refused() {
    const memory::desc w = packed_weights();
    for (const attempt &a : attempts()) {
        std::cout.flush();
        const pid_t child = fork();
        if (child == 0) {
            int status = dnnl_success;
            try {
                a.run(w);
            } catch (const error &e) {
                status = e.status;
            }
            _exit(status);
        }
        int state = 0;
        waitpid(child, &state, 0);
        const bool refused = WIFEXITED(state) && (WEXITSTATUS(state) == dnnl_unimplemented ||
                                                  WEXITSTATUS(state) == dnnl_invalid_arguments);
        expect(refused, a.name + (WIFSIGNALED(state) ? ": signal " + std::to_string(WTERMSIG(state))
                                                     : ": status " + std::to_string(WEXITSTATUS(state))));
    }
    std::cout << attempts().size() << " ways to misuse packed weights\n";
}

// ---- stable

void test_stable() {
    int shapes = 0, problems = 0;
    for (const int groups : {1, 4, 32})
        for (const memory::dim oc : {32, 96})
            for (const memory::dim ic : {32, 64})
                for (const memory::dim kernel : {1, 3, 5})
                    for (const memory::dim stride : {1, 2}) {
                        const memory::dims weights =
                            groups == 1 ? memory::dims{oc, ic, kernel, kernel}
                                        : memory::dims{groups, oc / groups, ic / groups, kernel, kernel};
                        memory::desc first;
                        for (int variant = 0; variant < 24; variant++) {
                            const memory::dim n = 1 + variant % 3, size = 12 + 9 * (variant % 4),
                                              pad = kernel / 2;
                            const memory::dim out = (size + 2 * pad - kernel) / stride + 1;
                            const dt types[] = {dt::u8, dt::s8, dt::s32, dt::f32};
                            primitive_attr attr;
                            if (variant % 2)
                                attr.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
                            if (variant % 3)
                                attr.set_output_scales(
                                    variant % 5 ? 2 : 0,
                                    std::vector<float>(variant % 5 ? static_cast<std::size_t>(oc) : 1, 0.5f));
                            post_ops ops;
                            if (variant % 4 == 1)
                                ops.append_sum(0.5f);
                            if (variant % 4 > 1)
                                ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
                            attr.set_post_ops(ops);
                            const memory::desc bias({oc}, dt::f32, tag::any);
                            const convolution_forward::desc d(
                                prop_kind::forward_inference, algorithm::convolution_direct,
                                {{n, ic, size, size},
                                 variant % 5 ? dt::u8 : dt::s8,
                                 variant % 7 ? tag::any : tag::nhwc},
                                {weights, dt::s8, tag::any}, variant % 2 ? bias : memory::desc(),
                                {{n, oc, out, out}, types[variant % 4], tag::any}, {stride, stride},
                                {pad, pad}, {pad, pad});
                            const memory::desc got =
                                convolution_forward::primitive_desc(d, attr, cpu).weights_desc();
                            if (variant == 0)
                                first = got;
                            expect(got == first, "a second layout for weights of one shape");
                            problems++;
                        }
                        shapes++;
                    }
    std::cout << shapes << " shapes of weights, " << problems << " problems\n";
}

// ---- kept

void test_kept() {
    const memory::desc w = packed_weights(), plain({16, 8, 3, 3}, dt::s8, tag::oihw);
    expect(w.data.format_kind == dnnl_format_kind_rnn_packed, "weights are packed");
    expect(w.get_size() > plain.get_size() && w == w && w != plain, "size and equality");

    // ideep transposes weights so: the union is lost but for the strides, `extra` is copied.
    dnnl_memory_desc_t rebuilt = dnnl_memory_desc_t();
    rebuilt.ndims = w.data.ndims;
    rebuilt.data_type = w.data.data_type;
    rebuilt.format_kind = w.data.format_kind;
    rebuilt.extra = w.data.extra;
    std::memcpy(rebuilt.dims, w.data.dims, sizeof rebuilt.dims);
    std::memcpy(rebuilt.padded_dims, w.data.padded_dims, sizeof rebuilt.padded_dims);
    std::memcpy(rebuilt.format_desc.blocking.strides, w.data.format_desc.blocking.strides,
                4 * sizeof(dnnl_dim_t));
    expect(memory::desc(rebuilt).get_size() == w.get_size(), "size of a rebuilt descriptor");
    expect(memory::desc(rebuilt) == w, "a rebuilt descriptor is the same");

    memory from(plain, cpu), packed(memory::desc(rebuilt), cpu), back(plain, cpu);
    auto *bytes = static_cast<std::int8_t *>(from.get_data_handle());
    for (std::size_t i = 0; i < plain.get_size(); i++)
        bytes[i] = static_cast<std::int8_t>(i * 37);
    stream s(cpu);
    reorder(from, packed).execute(s, from, packed);
    reorder(packed, back).execute(s, packed, back);
    s.wait();
    expect(std::memcmp(bytes, back.get_data_handle(), plain.get_size()) == 0, "packed and unpacked");

    // To one of oneDNN's own layouts and back, with a type that Octet lacks on the way.
    memory blocked({{16, 8, 3, 3}, dt::bf16, tag::OIhw8i16o2i}, cpu), again(memory::desc(w), cpu);
    reorder(packed, blocked).execute(s, packed, blocked);
    reorder(blocked, again).execute(s, blocked, again);
    s.wait();
    expect(std::memcmp(packed.get_data_handle(), again.get_data_handle(), w.get_size()) == 0,
           "over a blocked layout");

    void *mapped = packed.map_data<void>();
    expect(mapped != nullptr, "mapped");
    packed.unmap_data(mapped);

    for (const memory::dims &dims : {memory::dims{8, 8, 3, 3}, memory::dims{16 * 8 * 9}}) {
        bool refused = false;
        try {
            dims.size() == 1 ? w.reshape(dims) : w.submemory_desc(dims, {0, 0, 0, 0});
        } catch (const error &) {
            refused = true;
        }
        expect(refused, "views of packed weights are refused");
    }
}

/// A client asks for the layout of a post-op's weights, which it did not describe.
void test_post_op() {
    primitive_attr attr;
    post_ops ops;
    ops.append_dw_k3s1p1(dt::s8, dt::undef, dt::u8, 0, {0.5f});
    attr.set_post_ops(ops);
    const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct,
                                      {{1, 8, 6, 6}, dt::u8, tag::any}, {{16, 8, 1, 1}, dt::s8, tag::any},
                                      {{1, 16, 6, 6}, dt::u8, tag::any}, {1, 1}, {0, 0}, {0, 0});
    const convolution_forward::primitive_desc pd(d, attr, cpu);
    const memory::desc w = pd.query_md(query::exec_arg_md, DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS),
                       plain({16, 1, 1, 3, 3}, dt::s8, tag::goihw);
    expect(w.get_size() >= plain.get_size(), "weights of a depthwise post-op have a size");
    memory from(plain, cpu), to(w, cpu);
    std::memset(from.get_data_handle(), 1, plain.get_size());
    stream s(cpu);
    reorder(from, to).execute(s, from, to);
    s.wait();
}

} // namespace

int main() {
    test_kept();
    test_post_op();
    test_stable();
    test_refused();
    return failures == 0 ? 0 : 1;
}
