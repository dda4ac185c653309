// Random networks of several 8-bit operators, at every level with and without fusion and threads: the bytes
// of the reference kernels, one operator after the other. Sizes are such that tile registers are used at the
// level avx512_amx, which most machines have by emulation alone (tests/amx/emulator.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "amx/emulator.hpp"
#include "network/tests/graph_builder.hpp"
#include "octet/octet.hpp"
#include "support/effort.hpp"
#include "support/inputs.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
using test::inputs;

/// A network of TFLite's operators on codes; each step reads tensors that are there.
class random_network : public graph_builder {
public:
    random_network(inputs &in, data_type type)
        : graph_builder("tflite", type, static_cast<std::uint32_t>(in.between(0, 1 << 30))), in_(in),
          type_(type) {
        const dim_t size = in.between(3, 12);
        add(memory::dims{in.between(1, 2), size, size + in.between(0, 2), channels()});
        g.inputs = {0};
        for (std::int64_t steps = in.between(2, 7); steps > 0; steps--)
            step();
        const int image = images_.back();
        const dim_t flat = dims_of(image)[1] * dims_of(image)[2] * dims_of(image)[3];
        if (in.one_in(2) && flat <= 4096)
            classify(image, flat);
        for (const int t : images_) // images that nobody reads, and some of the others
            if (t > 0 && (!is_read(t) || in.one_in(6)))
                g.outputs.push_back(t);
    }

private:
    using attributes = std::map<std::string, model::attribute>;

    dim_t channels() {
        constexpr dim_t some[] = {3, 8, 16, 64, 64, 80, 96, 128};
        return some[in_.between(0, 7)];
    }
    const memory::dims &dims_of(int t) const { return g.tensors[static_cast<std::size_t>(t)].dims; }
    bool is_read(int t) const {
        for (const model::node &n : g.nodes)
            for (const int i : n.inputs)
                if (i == t)
                    return true;
        return false;
    }
    int add(const memory::dims &dims) {
        const int zero = type_ == data_type::u8 ? 128 : 0;
        images_.push_back(tensor(dims, 0.02f + static_cast<float>(in_.between(0, 40)) / 500,
                                 zero + static_cast<std::int32_t>(in_.between(-40, 40))));
        return images_.back();
    }
    int any_image() {
        const auto last = static_cast<std::int64_t>(images_.size()) - 1;
        return images_[static_cast<std::size_t>(in_.one_in(3) ? in_.between(0, last) : last)];
    }
    std::string activation() {
        constexpr const char *all[] = {"NONE", "NONE", "RELU", "RELU6"};
        return all[in_.between(0, 3)];
    }

    void step() {
        switch (in_.between(0, 6)) {
        case 0:
        case 1:
        case 2:
            return convolve(any_image(), false);
        case 3:
            return convolve(any_image(), true);
        case 4:
            return add_two();
        case 5:
            return pool(any_image());
        default:
            return in_.one_in(2) ? concatenate() : apply(any_image());
        }
    }

    /// Windows with their sizes; returns the destination's dims but for the channels.
    memory::dims slide(int x, dim_t kernel, attributes &a) {
        memory::dims d = dims_of(x);
        const bool same = kernel > d[1] || kernel > d[2] || in_.one_in(2);
        const dim_t stride = in_.one_in(4) ? 2 : 1;
        for (const std::size_t axis : {1, 2})
            d[axis] = same ? (d[axis] + stride - 1) / stride : (d[axis] - kernel) / stride + 1;
        a["padding"] = std::string(same ? "SAME" : "VALID");
        a["stride_h"] = a["stride_w"] = std::int64_t{stride};
        a["activation"] = activation();
        return d;
    }
    void convolve(int x, bool depthwise) {
        const dim_t kernel = in_.one_in(2) ? 1 : in_.one_in(4) ? 5 : 3, ic = dims_of(x)[3];
        attributes a;
        memory::dims d = slide(x, kernel, a);
        const dim_t oc = d[3] = depthwise ? ic : channels();
        if (depthwise)
            a["depth_multiplier"] = std::int64_t{1};
        const memory::dims w =
            depthwise ? memory::dims{1, kernel, kernel, ic} : memory::dims{oc, kernel, kernel, ic};
        const float scale = 0.3f / static_cast<float>(kernel * kernel * (depthwise ? 4 : ic));
        const int filter = weights(w, type_, scale), bias = weights({oc}, data_type::s32, 1.f, 2000);
        node(depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", {x, filter, bias}, add(d), a);
    }
    void add_two() {
        const int x = any_image();
        for (const int y : images_)
            if (y != x && dims_of(y) == dims_of(x))
                return node("ADD", {x, y}, add(dims_of(x)), {{"activation", activation()}});
        apply(x);
    }
    void pool(int x) {
        const dim_t kernel = std::min<dim_t>({in_.between(2, 3), dims_of(x)[1], dims_of(x)[2]});
        attributes a;
        const memory::dims d = slide(x, kernel, a);
        a["filter_h"] = a["filter_w"] = std::int64_t{kernel};
        const int y = add(d);
        g.tensors[static_cast<std::size_t>(y)].quant = g.tensors[static_cast<std::size_t>(x)].quant;
        node(in_.one_in(2) ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {x}, y, a);
    }
    void concatenate() {
        const int x = any_image();
        memory::dims d = dims_of(x);
        d[3] *= 2;
        const int y = add(d);
        g.tensors[static_cast<std::size_t>(y)].quant = g.tensors[static_cast<std::size_t>(x)].quant;
        node("CONCATENATION", {x, x}, y, {{"axis", std::int64_t{3}}, {"activation", std::string("NONE")}});
    }
    void apply(int x) {
        constexpr const char *functions[] = {"RELU", "LEAKY_RELU", "TANH"};
        const std::string op = functions[in_.between(0, 2)];
        const int y = add(dims_of(x));
        const int zero = type_ == data_type::u8 ? 128 : 0;
        if (op == "TANH")
            g.tensors[static_cast<std::size_t>(y)].quant = {{1.f / 128}, {zero}, 0};
        node(op, {x}, y, op == "LEAKY_RELU" ? attributes{{"alpha", 0.3f}} : attributes{});
    }
    void classify(int x, dim_t flat) {
        const dim_t batch = dims_of(x)[0], classes = in_.between(1, 40);
        const int row = tensor({batch, flat}, 1, 0);
        g.tensors[static_cast<std::size_t>(row)].quant = g.tensors[static_cast<std::size_t>(x)].quant;
        node("RESHAPE",
             {x, integers({2}, {static_cast<std::int32_t>(batch), static_cast<std::int32_t>(flat)})}, row);
        const int filter = weights({classes, flat}, type_, 0.3f / static_cast<float>(flat));
        node("FULLY_CONNECTED", {row, filter, weights({classes}, data_type::s32, 1.f, 2000)},
             add({batch, classes}), {{"activation", activation()}});
    }

    inputs &in_;
    const data_type type_;
    std::vector<int> images_;
};

/// All outputs on one input, twice: a second run must not see traces of the first.
std::vector<bytes> outputs_of(const model::graph &g, const network_options &options) {
    network net(g, options);
    std::vector<bytes> results;
    for (const std::uint8_t seed : {3, 101}) {
        const memory m = net.get_memory(g.inputs[0]);
        for (std::size_t i = 0; i < m.get_desc().get_size(); i++)
            m.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 89 + i / 7 + seed);
        net.run();
        for (const int t : g.outputs) {
            const memory y = net.get_memory(t);
            results.emplace_back(y.map_data<std::uint8_t>(),
                                 y.map_data<std::uint8_t>() + y.get_desc().get_size());
        }
    }
    return results;
}

std::string text_of(const model::graph &g) {
    std::string text;
    for (const model::node &n : g.nodes)
        text += model::operator_text(n) + " ";
    return text;
}

TEST(RandomNetworks, HaveTheSameBytesAtEveryLevel) {
    const std::uint64_t before = test::emulated_products();
    for (std::int64_t i = 0, count = test::problem_count(20); i < count && !testing::Test::HasFailure();
         i++) {
        inputs in(static_cast<std::uint32_t>(7000 + i));
        const random_network n(in, in.one_in(4) ? data_type::u8 : data_type::s8);
        SCOPED_TRACE(testing::Message() << "seed " << 7000 + i << ": " << text_of(n.g));
        set_max_cpu_isa(cpu_isa::ref);
        network_options alone;
        alone.fusion = false;
        alone.threads = 1;
        const std::vector<bytes> expected = outputs_of(n.g, alone);
        for (const cpu_isa level : get_available_cpu_isas()) {
            set_max_cpu_isa(level);
            for (const bool fusion : {false, true}) {
                network_options options;
                options.fusion = fusion;
                options.threads = fusion ? 3 : 1;
                EXPECT_EQ(outputs_of(n.g, options), expected)
                    << to_string(level) << (fusion ? ", fused" : "");
            }
        }
        set_max_cpu_isa(cpu_isa::all);
    }
    if (test::emulates_amx()) {
        EXPECT_GT(test::emulated_products(), before);
    }
}

} // namespace
} // namespace octet::tests
