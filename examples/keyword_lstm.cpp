// A keyword spotter's recurrent part in int8: an LSTM reads 40 features of each of 49 frames, and its last state
// would go to a classifier. The program quantizes the weights of an f32 network, runs both, and runs the int8 one
// once more frame by frame, as a device that listens does. It checks that streaming changes no byte and that int8
// stays near f32.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <octet/octet.hpp>

using namespace octet;

namespace {

constexpr dim_t frames = 49, features = 40, channels = 64, gates = 4;

const engine cpu(engine::kind::cpu, 0);

memory::desc plain(const memory::dims &dims, data_type type, format_tag tag) { return {dims, type, tag}; }

/// Numbers that a trained network might have.
memory random_floats(const memory::desc &md, float deviation, unsigned seed) {
    std::mt19937 bits(seed);
    memory m(md, cpu);
    for (std::size_t i = 0; i < md.get_size() / sizeof(float); i++) {
        const auto uniform = static_cast<float>(bits() % 20001) / 10000.f - 1.f;
        m.map_data<float>()[i] = deviation * uniform;
    }
    return m;
}

void convert(const memory &from, const memory &to, const primitive_attr &attr) {
    reorder(reorder::primitive_desc(from, to, attr)).execute(stream(cpu), from, to);
}

/// An LSTM over `steps` frames; states of the type of src go in and out.
lstm_forward::primitive_desc lstm(dim_t steps, data_type type, const primitive_attr &attr) {
    const data_type weights = type == data_type::f32 ? data_type::f32 : data_type::s8;
    const memory::desc h = plain({1, 1, 1, channels}, type, format_tag::ldnc),
                       c = plain({1, 1, 1, channels}, data_type::f32, format_tag::ldnc);
    const lstm_forward::desc d(prop_kind::forward_inference, rnn_direction::unidirectional_left2right,
                               plain({steps, 1, features}, type, format_tag::tnc), h, c,
                               plain({1, 1, features, gates, channels}, weights, format_tag::any),
                               plain({1, 1, channels, gates, channels}, weights, format_tag::any),
                               plain({1, 1, gates, channels}, data_type::f32, format_tag::ldgo),
                               plain({steps, 1, channels}, type, format_tag::tnc), h, c);
    return lstm_forward::primitive_desc(d, attr, cpu);
}

} // namespace

int main() {
    // Features and states lie between -1 and 1: code = real * 127 + 128.
    primitive_attr quantized;
    quantized.set_rnn_data_qparams(127.f, 128.f);
    quantized.set_rnn_weights_qparams(0, {127.f / 0.3f});

    const memory x = random_floats(plain({frames, 1, features}, data_type::f32, format_tag::tnc), 1.f, 1),
                 w = random_floats(
                     plain({1, 1, features, gates, channels}, data_type::f32, format_tag::ldigo), 0.3f, 2),
                 r = random_floats(
                     plain({1, 1, channels, gates, channels}, data_type::f32, format_tag::ldigo), 0.2f, 3),
                 b = random_floats(plain({1, 1, gates, channels}, data_type::f32, format_tag::ldgo), 0.5f, 4);

    // Weights are converted once, into the layout that the primitive chose.
    const auto run = [&](data_type type, dim_t steps) {
        const bool is_int8 = type != data_type::f32;
        const primitive_attr attr = is_int8 ? quantized : primitive_attr();
        const lstm_forward::primitive_desc pd = lstm(steps, type, attr);
        const memory source(plain({frames, 1, features}, type, format_tag::tnc), cpu),
            layer(pd.weights_layer_desc(), cpu), iter(pd.weights_iter_desc(), cpu);
        convert(x, source, attr);
        convert(w, layer, attr);
        convert(r, iter, attr);
        const memory result(plain({frames, 1, channels}, type, format_tag::tnc), cpu),
            h(pd.src_iter_desc(), cpu), c(pd.src_iter_c_desc(), cpu);
        const std::size_t element = memory::data_type_size(type);
        std::fill_n(h.map_data<std::uint8_t>(), h.get_desc().get_size(), is_int8 ? 128 : 0); // the code of 0
        std::fill_n(c.map_data<float>(), channels, 0.f);
        const lstm_forward network(pd);
        for (dim_t t = 0; t < frames; t += steps) // states stay where they are between calls
            network.execute(
                stream(cpu),
                {{OCTET_ARG_SRC_LAYER,
                  memory(pd.src_layer_desc(), cpu,
                         source.map_data<std::uint8_t>() + static_cast<std::size_t>(t * features) * element)},
                 {OCTET_ARG_SRC_ITER, h},
                 {OCTET_ARG_SRC_ITER_C, c},
                 {OCTET_ARG_WEIGHTS_LAYER, layer},
                 {OCTET_ARG_WEIGHTS_ITER, iter},
                 {OCTET_ARG_BIAS, b},
                 {OCTET_ARG_DST_LAYER,
                  memory(pd.dst_layer_desc(), cpu,
                         result.map_data<std::uint8_t>() + static_cast<std::size_t>(t * channels) * element)},
                 {OCTET_ARG_DST_ITER, h},
                 {OCTET_ARG_DST_ITER_C, c}});
        return result;
    };
    const memory real = run(data_type::f32, frames), whole = run(data_type::u8, frames),
                 streamed = run(data_type::u8, 1);

    const auto *codes = whole.map_data<std::uint8_t>();
    const bool is_equal = std::equal(codes, codes + frames * channels, streamed.map_data<std::uint8_t>());
    float largest = 0;
    for (dim_t i = 0; i < frames * channels; i++)
        largest = std::max(
            largest, std::fabs((static_cast<float>(codes[i]) - 128.f) / 127.f - real.map_data<float>()[i]));
    std::printf("%s\n", lstm(frames, data_type::u8, quantized).impl_info_str());
    std::printf("frame by frame: %s bytes\n", is_equal ? "the same" : "OTHER");
    std::printf("largest difference from f32: %.3f\n", static_cast<double>(largest));
    return is_equal && largest < 0.05f ? 0 : 1;
}
