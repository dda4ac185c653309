// Recurrent networks: every level against the definition for random networks, the definition against numbers that
// were computed elsewhere, and against the formulas of octet/rnn.hpp written once more for one step. Vectors of
// oneDNN are replayed by `octet check`.
// SPDX-License-Identifier: Apache-2.0
#include "common/eltwise_math.hpp"
#include "support/effort.hpp"
#include "support/expect_error.hpp"
#include "support/naive.hpp"

namespace octet::test {
namespace {

using arguments = std::unordered_map<int, memory>;
using rnn_primitive_desc_of_any_cell = primitive_desc_of<rnn_desc>;

memory::desc row_major(const dims &sizes, data_type type) { return memory::desc(sizes, type, dims{}); }

/// A description and its attributes, and buffers that hold it.
struct network {
    rnn_desc d{};
    primitive_attr attr;
    arguments args;

    void set(int arg, memory::desc rnn_desc::*place, const memory::desc &md) {
        d.*place = md;
        args[arg] = memory(md, cpu);
    }
    float *floats(int arg) { return args.at(arg).map_data<float>(); }
    template <typename Code = std::uint8_t> Code *codes(int arg) { return args.at(arg).map_data<Code>(); }

    /// The bytes of all results, one after the other.
    std::vector<std::uint8_t> run() {
        arguments given = args;
        const rnn_primitive_desc_of_any_cell pd(d, attr, cpu);
        implementation = pd.impl_info_str();
        for (const int arg : {OCTET_ARG_WEIGHTS_LAYER, OCTET_ARG_WEIGHTS_ITER, OCTET_ARG_WEIGHTS_PROJECTION})
            if (given.count(arg) && pd.arg_desc(arg) != given.at(arg).get_desc()) { // packed
                const memory packed(pd.arg_desc(arg), cpu);
                reorder(given.at(arg), packed).execute(stream(cpu), given.at(arg), packed);
                given[arg] = packed;
            }
        std::vector<std::uint8_t> bytes;
        const int results[] = {OCTET_ARG_DST_LAYER, OCTET_ARG_DST_ITER, OCTET_ARG_DST_ITER_C};
        for (const int arg : results)
            if (given.count(arg))
                std::memset(given[arg].get_data_handle(), 0x5a, given[arg].get_desc().get_size());
        primitive(pd).execute(stream(cpu), given);
        for (const int arg : results)
            if (given.count(arg)) {
                const auto *data = given[arg].map_data<std::uint8_t>();
                bytes.insert(bytes.end(), data, data + given[arg].get_desc().get_size());
            }
        return bytes;
    }
    std::string implementation;
};

void fill(inputs &in, const memory &m) {
    const memory::desc md = m.get_desc();
    const auto count = static_cast<std::size_t>(product(md.dims()));
    if (md.get_data_type() == data_type::f32)
        for (std::size_t i = 0; i < count; i++)
            m.map_data<float>()[i] = static_cast<float>(in.between(-1000, 1000)) / 700;
    else
        for (std::size_t i = 0; i < count; i++)
            m.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(in.between(0, 255));
}

network random_network(inputs &in) {
    constexpr algorithm cells[] = {algorithm::vanilla_rnn, algorithm::vanilla_lstm, algorithm::vanilla_gru,
                                   algorithm::lbr_gru};
    constexpr algorithm activations[] = {algorithm::eltwise_relu, algorithm::eltwise_tanh,
                                         algorithm::eltwise_logistic};
    constexpr data_type types[] = {data_type::f32, data_type::u8, data_type::s8};
    network net;
    rnn_desc &d = net.d;
    d.prop = prop_kind::forward_inference;
    d.cell = cells[in.between(0, 3)];
    d.activation = activations[in.between(0, 2)];
    d.alpha = 0.25f;
    d.direction = static_cast<rnn_direction>(in.between(0, 3));
    const data_type type = types[in.between(0, 2)];
    const bool is_f32 = type == data_type::f32, is_lstm = d.cell == algorithm::vanilla_lstm;
    const dim_t t = in.one_in(4) ? 1 : in.between(2, 5), n = in.between(1, 4), h = in.between(1, 40),
                l = in.between(1, 3);
    const dim_t directions = d.direction >= rnn_direction::bidirectional_concat ? 2 : 1;
    const bool has_projection = is_lstm && in.one_in(3);
    const dim_t o = has_projection ? in.between(1, 24) : h, i = l > 1 ? o : in.between(1, 70);
    const bool is_gru = d.cell == algorithm::vanilla_gru || d.cell == algorithm::lbr_gru;
    const dim_t s = t == 1 && !is_gru ? in.between(1, 50) : o; // channels that one step reads
    const dim_t gates = is_lstm ? 4 : d.cell == algorithm::vanilla_rnn ? 1 : 3;
    const data_type weights = is_f32 ? data_type::f32 : data_type::s8,
                    result = in.one_in(2) ? type : data_type::f32,
                    state = in.one_in(2) ? type : data_type::f32;
    const auto maybe = [&](int arg, memory::desc rnn_desc::*place, const dims &sizes, data_type of) {
        if (!in.one_in(3))
            net.set(arg, place, row_major(sizes, of));
    };
    const bool is_time_inner = in.one_in(4);
    net.set(OCTET_ARG_SRC_LAYER, &rnn_desc::src_layer,
            memory::desc({t, n, i}, type, is_time_inner ? format_tag::ntc : format_tag::tnc));
    net.set(OCTET_ARG_WEIGHTS_LAYER, &rnn_desc::weights_layer,
            memory::desc({l, directions, i, gates, h}, weights,
                         in.one_in(2) ? format_tag::ldigo : format_tag::ldgoi));
    net.set(OCTET_ARG_WEIGHTS_ITER, &rnn_desc::weights_iter,
            row_major({l, directions, s, gates, h}, weights));
    net.set(OCTET_ARG_DST_LAYER, &rnn_desc::dst_layer,
            row_major({t, n, d.direction == rnn_direction::bidirectional_concat ? 2 * o : o}, result));
    if (has_projection)
        net.set(OCTET_ARG_WEIGHTS_PROJECTION, &rnn_desc::weights_projection,
                row_major({l, directions, h, o}, weights));
    maybe(OCTET_ARG_BIAS, &rnn_desc::bias, {l, directions, gates + (d.cell == algorithm::lbr_gru), h},
          data_type::f32);
    maybe(OCTET_ARG_SRC_ITER, &rnn_desc::src_iter, {l, directions, n, s}, state);
    maybe(OCTET_ARG_DST_ITER, &rnn_desc::dst_iter, {l, directions, n, o}, state);
    if (is_lstm) {
        maybe(OCTET_ARG_SRC_ITER_C, &rnn_desc::src_iter_c, {l, directions, n, h}, data_type::f32);
        maybe(OCTET_ARG_DST_ITER_C, &rnn_desc::dst_iter_c, {l, directions, n, h}, data_type::f32);
        maybe(OCTET_ARG_WEIGHTS_PEEPHOLE, &rnn_desc::weights_peephole, {l, directions, 3, h}, data_type::f32);
    }
    for (const auto &[arg, m] : net.args)
        fill(in, m);
    if (!is_f32) {
        net.attr.set_rnn_data_qparams(static_cast<float>(in.between(200, 900)) / 7,
                                      type == data_type::s8 ? 0.f
                                                            : static_cast<float>(in.between(0, 510)) / 2);
        const bool is_per_channel = in.one_in(2);
        std::vector<float> scales;
        for (dim_t k = 0; k < (is_per_channel ? gates * h : 1); k++)
            scales.push_back(static_cast<float>(in.between(100, 3000)) / 7);
        net.attr.set_rnn_weights_qparams(is_per_channel ? 24 : 0, scales);
        if (has_projection)
            net.attr.set_rnn_weights_projection_qparams(0, {static_cast<float>(in.between(100, 3000)) / 7});
    }
    if (in.one_in(2)) // packed by the primitive
        for (memory::desc *md : {&d.weights_layer, &d.weights_iter, &d.weights_projection})
            if (!md->is_zero())
                *md = memory::desc(md->dims(), md->get_data_type(), format_tag::any);
    return net;
}

TEST(RecurrentNetworks, HaveTheBytesOfTheDefinitionOnEveryLevel) {
    for (std::int64_t seed = 0; seed < problem_count(60); seed++) {
        inputs in(static_cast<std::uint32_t>(seed));
        network net = random_network(in);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " +
                     rnn_primitive_desc_of_any_cell(net.d, net.attr, cpu).problem_str());
        set_max_cpu_isa(cpu_isa::ref);
        const std::vector<std::uint8_t> expected = net.run();
        EXPECT_EQ(net.implementation, "ref");
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                ASSERT_EQ(net.run(), expected) << net.implementation << ", " << threads << " threads";
                EXPECT_EQ(net.implementation == "ref", level == cpu_isa::ref);
            }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(0);
    }
}

// ---- numbers from elsewhere

/// T = 2, N = 1, I = 3, H = 2, scale 100, shift 128, weights scale 150, no states.
network worked_example(algorithm cell, dim_t gates) {
    network net;
    net.d.prop = prop_kind::forward_inference;
    net.d.cell = cell;
    net.set(OCTET_ARG_SRC_LAYER, &rnn_desc::src_layer, row_major({2, 1, 3}, data_type::u8));
    net.set(OCTET_ARG_WEIGHTS_LAYER, &rnn_desc::weights_layer, row_major({1, 1, 3, gates, 2}, data_type::s8));
    net.set(OCTET_ARG_WEIGHTS_ITER, &rnn_desc::weights_iter, row_major({1, 1, 2, gates, 2}, data_type::s8));
    net.set(OCTET_ARG_BIAS, &rnn_desc::bias, row_major({1, 1, gates, 2}, data_type::f32));
    net.set(OCTET_ARG_DST_LAYER, &rnn_desc::dst_layer, row_major({2, 1, 2}, data_type::u8));
    net.attr.set_rnn_data_qparams(100, 128);
    net.attr.set_rnn_weights_qparams(0, {150});
    const std::uint8_t x[] = {10, 200, 130, 255, 0, 77};
    std::copy(std::begin(x), std::end(x), net.codes(OCTET_ARG_SRC_LAYER));
    // Weights and bias are those of four gates {I, 4, H}; a GRU takes the first three of each row.
    const auto weights = [&](int arg, int factor, int modulus, int zero, dim_t rows) {
        memory real(row_major({1, 1, rows, gates, 2}, data_type::f32), cpu);
        for (dim_t i = 0; i < rows; i++)
            for (dim_t k = 0; k < gates * 2; k++)
                real.map_data<float>()[i * gates * 2 + k] =
                    static_cast<float>((factor * (i * 8 + k) % modulus) - zero) / 10;
        reorder(reorder::primitive_desc(real, net.args[arg], net.attr))
            .execute(stream(cpu), real, net.args[arg]);
    };
    weights(OCTET_ARG_WEIGHTS_LAYER, 5, 13, 6, 3);
    weights(OCTET_ARG_WEIGHTS_ITER, 3, 7, 3, 2);
    for (dim_t k = 0; k < gates * 2; k++)
        net.floats(OCTET_ARG_BIAS)[k] = static_cast<float>(k) / 16;
    return net;
}

TEST(RecurrentNetworks, HaveTheWorkedNumbersOfOnednn) {
    network lstm = worked_example(algorithm::vanilla_lstm, 4);
    lstm.set(OCTET_ARG_DST_ITER_C, &rnn_desc::dst_iter_c, row_major({1, 1, 1, 2}, data_type::f32));
    lstm.run();
    const std::uint8_t *h = lstm.codes(OCTET_ARG_DST_LAYER);
    EXPECT_EQ(std::vector<int>(h, h + 4), (std::vector<int>{138, 107, 133, 140}));
    EXPECT_EQ(lstm.floats(OCTET_ARG_DST_ITER_C)[0], 0x1.5cec52p-4f);
    EXPECT_EQ(lstm.floats(OCTET_ARG_DST_ITER_C)[1], 0x1.f2ccd8p-3f);
    network gru = worked_example(algorithm::vanilla_gru, 3);
    gru.run();
    h = gru.codes(OCTET_ARG_DST_LAYER);
    EXPECT_EQ(std::vector<int>(h, h + 4), (std::vector<int>{139, 97, 134, 168}));
}

// ---- one step of f32, written from the page

/// One layer and one row of a step. Weights are {inputs, gates, channels}.
struct float_step {
    std::vector<float> x, h, c, w, r, b, p;
    dim_t gates, channels;

    float sum(const std::vector<float> &of, const std::vector<float> &weights, dim_t g, dim_t k) const {
        float total = 0;
        for (std::size_t i = 0; i < of.size(); i++)
            total = std::fma(of[i],
                             weights[(i * static_cast<std::size_t>(gates) + static_cast<std::size_t>(g)) *
                                         static_cast<std::size_t>(channels) +
                                     static_cast<std::size_t>(k)],
                             total);
        return total;
    }
    float bias(dim_t g, dim_t k) const { return b[static_cast<std::size_t>(g * channels + k)]; }
    float gate(dim_t g, dim_t k) const { return (sum(x, w, g, k) + sum(h, r, g, k)) + bias(g, k); }
};
float sigma(float x) { return impl::eltwise(algorithm::eltwise_logistic, 0, 0, x); }
float hyperbolic(float x) { return impl::eltwise(algorithm::eltwise_tanh, 0, 0, x); }

float_step random_step(inputs &in, network &net, algorithm cell, dim_t gates) {
    const dim_t i = 7, k = 5;
    const dim_t bias_gates = gates + (cell == algorithm::lbr_gru);
    net.d.prop = prop_kind::forward_inference;
    net.d.cell = cell;
    net.set(OCTET_ARG_SRC_LAYER, &rnn_desc::src_layer, row_major({1, 1, i}, data_type::f32));
    net.set(OCTET_ARG_SRC_ITER, &rnn_desc::src_iter, row_major({1, 1, 1, k}, data_type::f32));
    net.set(OCTET_ARG_WEIGHTS_LAYER, &rnn_desc::weights_layer,
            row_major({1, 1, i, gates, k}, data_type::f32));
    net.set(OCTET_ARG_WEIGHTS_ITER, &rnn_desc::weights_iter, row_major({1, 1, k, gates, k}, data_type::f32));
    net.set(OCTET_ARG_BIAS, &rnn_desc::bias, row_major({1, 1, bias_gates, k}, data_type::f32));
    net.set(OCTET_ARG_DST_LAYER, &rnn_desc::dst_layer, row_major({1, 1, k}, data_type::f32));
    if (cell == algorithm::vanilla_lstm) {
        net.set(OCTET_ARG_SRC_ITER_C, &rnn_desc::src_iter_c, row_major({1, 1, 1, k}, data_type::f32));
        net.set(OCTET_ARG_WEIGHTS_PEEPHOLE, &rnn_desc::weights_peephole,
                row_major({1, 1, 3, k}, data_type::f32));
    }
    for (const auto &[arg, m] : net.args)
        fill(in, m);
    const auto values = [&](int arg) {
        if (!net.args.count(arg))
            return std::vector<float>();
        const float *data = net.floats(arg);
        return std::vector<float>(data, data + product(net.args[arg].get_desc().dims()));
    };
    return {values(OCTET_ARG_SRC_LAYER),
            values(OCTET_ARG_SRC_ITER),
            values(OCTET_ARG_SRC_ITER_C),
            values(OCTET_ARG_WEIGHTS_LAYER),
            values(OCTET_ARG_WEIGHTS_ITER),
            values(OCTET_ARG_BIAS),
            values(OCTET_ARG_WEIGHTS_PEEPHOLE),
            gates,
            k};
}

void expect_states(network &net, const std::function<float(std::size_t)> &expected) {
    net.run();
    for (std::size_t k = 0; k < 5; k++)
        EXPECT_EQ(net.floats(OCTET_ARG_DST_LAYER)[k], expected(k)) << net.implementation << ", channel " << k;
}

TEST(RecurrentNetworks, ComputeFloatsInTheStatedOrder) {
    for (std::uint32_t seed = 0; seed < 20; seed++) {
        inputs in(seed);
        network lstm, gru, lbr, vanilla;
        const float_step a = random_step(in, lstm, algorithm::vanilla_lstm, 4);
        expect_states(lstm, [&](std::size_t k) {
            const auto channel = static_cast<dim_t>(k);
            const float i = sigma(std::fma(a.p[k], a.c[k], a.gate(0, channel))),
                        f = sigma(std::fma(a.p[5 + k], a.c[k], a.gate(1, channel)));
            const float c = std::fma(i, hyperbolic(a.gate(2, channel)), a.c[k] * f);
            return hyperbolic(c) * sigma(std::fma(a.p[10 + k], c, a.gate(3, channel)));
        });
        const float_step b = random_step(in, gru, algorithm::vanilla_gru, 3);
        float_step reset = b;
        for (std::size_t k = 0; k < 5; k++)
            reset.h[k] = sigma(b.gate(1, static_cast<dim_t>(k))) * b.h[k];
        expect_states(gru, [&](std::size_t k) {
            const float u = sigma(b.gate(0, static_cast<dim_t>(k)));
            return std::fma(1 - u, hyperbolic(reset.gate(2, static_cast<dim_t>(k))), u * b.h[k]);
        });
        const float_step c = random_step(in, lbr, algorithm::lbr_gru, 3);
        expect_states(lbr, [&](std::size_t k) {
            const auto channel = static_cast<dim_t>(k);
            const float u = sigma(c.gate(0, channel)), r = sigma(c.gate(1, channel));
            const float candidate = hyperbolic(
                std::fma(r, c.sum(c.h, c.r, 2, channel) + c.bias(3, channel), c.sum(c.x, c.w, 2, channel)) +
                c.bias(2, channel));
            return std::fma(1 - u, candidate, u * c.h[k]);
        });
        const float_step d = random_step(in, vanilla, algorithm::vanilla_rnn, 1);
        vanilla.d.activation = algorithm::eltwise_relu;
        vanilla.d.alpha = 0.5f;
        expect_states(vanilla, [&](std::size_t k) {
            const float g = d.gate(0, static_cast<dim_t>(k));
            return g > 0 ? g : 0.5f * g;
        });
    }
}

/// dst_iter may be src_iter, and the last states of one call are the first of the next.
TEST(RecurrentNetworks, ContinueInPlace) {
    inputs in(5);
    network whole = worked_example(algorithm::vanilla_lstm, 4);
    whole.run();
    network half = worked_example(algorithm::vanilla_lstm, 4);
    half.set(OCTET_ARG_SRC_LAYER, &rnn_desc::src_layer, row_major({1, 1, 3}, data_type::u8));
    half.set(OCTET_ARG_DST_LAYER, &rnn_desc::dst_layer, row_major({1, 1, 2}, data_type::u8));
    half.d.src_iter = half.d.dst_iter = row_major({1, 1, 1, 2}, data_type::u8);
    half.d.src_iter_c = half.d.dst_iter_c = row_major({1, 1, 1, 2}, data_type::f32);
    std::uint8_t h[] = {128, 128};
    float c[] = {0, 0};
    for (const int arg : {OCTET_ARG_SRC_ITER, OCTET_ARG_DST_ITER})
        half.args[arg] = memory(half.d.src_iter, cpu, h);
    for (const int arg : {OCTET_ARG_SRC_ITER_C, OCTET_ARG_DST_ITER_C})
        half.args[arg] = memory(half.d.src_iter_c, cpu, c);
    const rnn_primitive_desc_of_any_cell pd(half.d, half.attr, cpu);
    for (std::size_t t = 0; t < 2; t++) {
        std::copy_n(whole.codes(OCTET_ARG_SRC_LAYER) + 3 * t, 3, half.codes(OCTET_ARG_SRC_LAYER));
        primitive(pd).execute(stream(cpu), half.args);
        for (std::size_t k = 0; k < 2; k++)
            EXPECT_EQ(half.codes(OCTET_ARG_DST_LAYER)[k], whole.codes(OCTET_ARG_DST_LAYER)[2 * t + k]);
    }
}

TEST(RecurrentNetworks, AreReadFromTheirText) {
    for (std::uint32_t seed = 0; seed < 20; seed++) {
        inputs in(seed);
        const network net = random_network(in);
        const rnn_primitive_desc_of_any_cell pd(net.d, net.attr, cpu);
        EXPECT_EQ(primitive_desc_from_string(pd.problem_str(), cpu).problem_str(), pd.problem_str());
    }
}

TEST(RecurrentNetworks, RefuseWhatDoesNotFit) {
    const network good = worked_example(algorithm::vanilla_lstm, 4);
    const auto refused = [&](const std::function<void(network &)> &change, status wanted,
                             std::initializer_list<std::string_view> words) {
        network net = good;
        change(net);
        expect_error(
            wanted, [&] { rnn_primitive_desc_of_any_cell(net.d, net.attr, cpu); }, words);
    };
    constexpr status invalid = status::invalid_arguments, unimplemented = status::unimplemented;
    refused([](network &n) { n.d.cell = algorithm::eltwise_relu; }, invalid,
            {"rnn: algorithm is eltwise_relu", "vanilla_rnn, vanilla_lstm, vanilla_gru, lbr_gru"});
    refused([](network &n) { n.d.direction = static_cast<rnn_direction>(9); }, invalid,
            {"rnn: direction is 9", "bidirectional_sum"});
    refused([](network &n) { n.d.cell = algorithm::vanilla_rnn; }, invalid,
            {"rnn: activation is undef", "eltwise_tanh"});
    refused([](network &n) { n.d.cell = algorithm::vanilla_gru; }, invalid,
            {"weights_layer has dims {1, 1, 3, 4, 2}, allowed: {1, 1, 3, 3, 2}"});
    refused(
        [](network &n) {
            n.d.weights_iter = row_major({1, 1, 3, 4, 2}, data_type::s8);
        },
        invalid, {"weights_iter has dims {1, 1, 3, 4, 2}, allowed: {1, 1, 2, 4, 2}"});
    refused(
        [](network &n) {
            n.d.dst_layer = row_major({2, 1, 4}, data_type::u8);
        },
        invalid, {"dst_layer has dims {2, 1, 4}, allowed: {2, 1, 2}"});
    refused(
        [](network &n) {
            n.d.bias = row_major({1, 1, 4, 2}, data_type::s32);
        },
        unimplemented, {"bias has type s32, implemented: f32"});
    refused(
        [](network &n) {
            n.d.weights_layer = row_major({1, 1, 3, 4, 2}, data_type::f32);
        },
        unimplemented, {"weights_layer has type f32, implemented: s8"});
    refused(
        [](network &n) {
            n.d.cell = algorithm::vanilla_gru;
            n.d.weights_peephole = row_major({1, 1, 3, 2}, data_type::f32);
        },
        invalid, {"weights_peephole is given, cell is vanilla_gru", "vanilla_lstm"});
    refused(
        [](network &n) {
            n.attr.set_rnn_weights_qparams(8, {1, 1});
        },
        unimplemented, {"set_rnn_weights_qparams: mask is 8, implemented: 0, 24"});
    refused(
        [](network &n) {
            n.attr.set_rnn_weights_qparams(24, {1, 1});
        },
        invalid, {"2 scales with mask 24", "allowed: 8"});
    refused([](network &n) { n.attr.set_output_scales(0, {2}); }, unimplemented, {"attributes other than"});
    refused(
        [](network &n) {
            n.d.src_layer = row_major({2, 1, 3}, data_type::s8);
            n.d.dst_layer = row_major({2, 1, 2}, data_type::s8);
        },
        unimplemented, {"shift is 128 with src_layer of type s8, implemented: 0"});
    refused(
        [](network &n) {
            n.d.weights_layer = row_major({2, 1, 3, 4, 2}, data_type::s8);
        },
        invalid, {"weights_iter has dims"});
    expect_invalid([] { primitive_attr().set_rnn_data_qparams(0, 1); }, {"set_rnn_data_qparams: scale is 0"});
    expect_invalid([] { primitive_attr().set_rnn_weights_qparams(0, {-1}); },
                   {"set_rnn_weights_qparams: scale 0 is -1", "positive"});
    primitive_attr attr;
    attr.set_rnn_data_qparams(2, 1);
    expect_invalid(
        [&] {
            eltwise_forward::primitive_desc(cpu, prop_kind::forward_inference, algorithm::eltwise_relu,
                                            row_major({4}, data_type::f32), row_major({4}, data_type::f32),
                                            0.f, 0.f, attr);
        },
        {"eltwise: set_rnn_data_qparams", "reorders"});
}

} // namespace
} // namespace octet::test
