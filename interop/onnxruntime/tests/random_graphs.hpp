#pragma once // SPDX-License-Identifier: Apache-2.0

// Random quantized graphs as exporters and quantizers write them, with operators in the middle that Octet
// lacks: images and rows of codes, in pairs of QuantizeLinear and DequantizeLinear, in operators on codes,
// and quantized while they run.

#include <algorithm>
#include <array>
#include <random>

#include "network/onnx/tests/onnx_builder.hpp"

namespace octet::tests {

class random_graph : public onnx_builder {
public:
    explicit random_graph(unsigned seed) : random_(seed) {
        const dims image{pick(1, 2), pick(1, 20), pick(1, 9), pick(1, 9)}, rows{pick(1, 6), pick(1, 40)};
        is_signed_ = chance(15);
        open_batch_ = chance(25);
        if (!chance(15))
            add_input(image);
        if (tensors_.empty() || chance(40))
            add_input(rows);
        const int steps = pick(2, 9);
        for (int i = 0; i < steps; i++)
            step();
        finish_outputs();
    }

    std::vector<dims> input_dims;
    bool is_signed() const { return is_signed_; } ///< its codes

private:
    /// A tensor of real numbers, or of codes that stand for them.
    struct tensor {
        std::string name;
        dims shape;
        bool is_codes = false;
        std::string scale = {}, zero_point = {};
        bool is_read = false;
    };

    int pick(int lowest, int highest) { return std::uniform_int_distribution<int>(lowest, highest)(random_); }
    bool chance(int percent) { return pick(1, 100) <= percent; }
    std::string fresh(const char *what) { return what + std::to_string(count_++); }

    void add_input(const dims &shape) {
        dims declared = shape;
        if (open_batch_)
            declared[0] = -1;
        tensors_.push_back({input<float>(fresh("x"), declared), shape});
        input_dims.push_back(shape);
    }

    // ---- Constants

    std::string scale() { return scalar<float>(fresh("s"), 0.002f * static_cast<float>(pick(1, 60))); }
    std::string zero_point(bool is_lowest = false) {
        const int z = is_lowest || chance(40) ? 0 : pick(0, 255);
        return is_signed_ ? scalar<std::int8_t>(fresh("z"), static_cast<std::int8_t>(z - 128))
                          : scalar<std::uint8_t>(fresh("z"), static_cast<std::uint8_t>(z));
    }
    /// Codes of weights in s8, with their scale and zero point, for one channel or for all.
    std::array<std::string, 3> weights(const dims &shape, std::int64_t channels) {
        std::size_t size = 1;
        for (const std::int64_t d : shape)
            size *= static_cast<std::size_t>(d);
        std::vector<std::int8_t> w(size);
        for (auto &v : w)
            v = static_cast<std::int8_t>(pick(-127, 127));
        const std::string name = constant<std::int8_t>(fresh("w"), shape, w);
        if (channels == 0)
            return {name, scale(), scalar<std::int8_t>(fresh("wz"), 0)};
        std::vector<float> scales(static_cast<std::size_t>(channels));
        for (float &v : scales)
            v = 0.001f * static_cast<float>(pick(1, 60));
        return {name, constant<float>(fresh("ws"), {channels}, scales),
                constant<std::int8_t>(fresh("wz"), {channels},
                                      std::vector<std::int8_t>(static_cast<std::size_t>(channels)))};
    }
    std::string reals(const dims &shape) {
        std::size_t size = 1;
        for (const std::int64_t d : shape)
            size *= static_cast<std::size_t>(d);
        std::vector<float> values(size);
        for (float &v : values)
            v = 0.01f * static_cast<float>(pick(-200, 200));
        return constant<float>(fresh("c"), shape, values);
    }

    // ---- Tensors

    tensor &any() {
        return tensors_[static_cast<std::size_t>(pick(0, static_cast<int>(tensors_.size()) - 1))];
    }

    tensor codes(tensor &t) {
        t.is_read = true;
        if (t.is_codes)
            return t;
        tensor q = quantized(t.name, t.shape);
        return q;
    }
    tensor quantized(const std::string &real, const dims &shape, bool is_relu = false) {
        tensor q{fresh("q"), shape, true, scale(), zero_point(is_relu)};
        node("QuantizeLinear", {real, q.scale, q.zero_point}, {q.name});
        return q;
    }
    std::string real(tensor &t) {
        t.is_read = true;
        if (!t.is_codes)
            return t.name;
        const std::string name = fresh("d");
        node("DequantizeLinear", {t.name, t.scale, t.zero_point}, {name});
        return name;
    }
    std::string real_of_codes(tensor &t) {
        tensor q = codes(t);
        return real(q);
    }
    void add(tensor t) { tensors_.push_back(std::move(t)); }

    // ---- Operators

    void step() {
        const std::size_t which = static_cast<std::size_t>(pick(0, static_cast<int>(tensors_.size()) - 1));
        tensor t = tensors_[which];
        tensors_[which].is_read = true;
        const bool is_image = t.shape.size() == 4;
        switch (pick(0, 11)) {
        case 0:
        case 1:
            return is_image ? convolution(t) : product(t);
        case 2:
            return is_image ? qlinear_convolution(t) : dynamic_product(t);
        case 3:
            return binary(t);
        case 4:
            return is_image ? pooling(t) : softmax(t);
        case 5:
            return unary(t);
        case 6:
            return foreign(t);
        case 7:
            return is_image ? flattened(t) : dynamic_product(t);
        case 8:
            return concatenation(t);
        case 9:
            return floats(t);
        case 10:
            return qlinear_unary(t);
        default:
            return is_image ? convolution(t) : product(t);
        }
    }

    void convolution(tensor t) {
        const std::int64_t from = t.shape[1], to = pick(1, 20), kernel = chance(50) ? 1 : 3;
        const bool is_depthwise = chance(25) && kernel == 3;
        const std::int64_t outputs = is_depthwise ? from : to;
        const std::string x = real_of_codes(t);
        const auto w = weights({outputs, is_depthwise ? 1 : from, kernel, kernel}, chance(50) ? outputs : 0);
        const std::string dw = fresh("dw"), y = fresh("y");
        set(node("DequantizeLinear", {w[0], w[1], w[2]}, {dw}), "axis", std::int64_t{0});
        onnx::NodeProto &n = node("Conv", {x, dw}, {y});
        set(n, "pads", kernel == 3 ? dims{1, 1, 1, 1} : dims{0, 0, 0, 0});
        if (is_depthwise)
            set(n, "group", from);
        dims shape = t.shape;
        shape[1] = outputs;
        end_in(y, shape);
    }

    void end_in(std::string y, const dims &shape) {
        const bool is_relu = chance(40);
        if (is_relu) {
            const std::string relu = fresh("relu");
            node("Relu", {y}, {relu});
            y = relu;
        }
        if (chance(85))
            add(quantized(y, shape, is_relu));
        else
            add({y, shape});
    }

    void qlinear_convolution(tensor t) {
        if (is_signed_)
            return convolution(t);
        const tensor x = codes(t);
        const std::int64_t from = x.shape[1], to = pick(1, 20);
        const auto w = weights({to, from, 1, 1}, chance(50) ? to : 0);
        tensor y{fresh("q"), x.shape, true, scale(), zero_point()};
        y.shape[1] = to;
        std::vector<std::int32_t> bias(static_cast<std::size_t>(to));
        for (auto &v : bias)
            v = pick(-5000, 5000);
        names inputs{x.name, x.scale, x.zero_point, w[0], w[1], w[2], y.scale, y.zero_point};
        if (chance(50))
            inputs.push_back(constant<std::int32_t>(fresh("b"), {to}, bias));
        node("QLinearConv", inputs, {y.name});
        add(y);
    }

    void product(tensor t) {
        const std::int64_t from = t.shape.back(), to = pick(1, 24);
        const std::string x = real_of_codes(t);
        const auto w = weights({from, to}, chance(40) ? to : 0);
        const std::string dw = fresh("dw"), y = fresh("y");
        set(node("DequantizeLinear", {w[0], w[1], w[2]}, {dw}), "axis", std::int64_t{1});
        node("MatMul", {x, dw}, {y});
        dims shape = t.shape;
        shape.back() = to;
        if (chance(25)) {
            const std::string sum = fresh("sum");
            node("Add", {y, reals({to})}, {sum});
            return end_in(sum, shape);
        }
        end_in(y, shape);
    }

    void dynamic_product(tensor t) {
        const std::int64_t from = t.shape.back(), to = pick(1, 24);
        const std::string x = real(t), q = fresh("dq"), s = fresh("dqs"), z = fresh("dqz");
        node("DynamicQuantizeLinear", {x}, {q, s, z});
        const auto w = weights({from, to}, 0);
        const std::string sum = fresh("sum"), real_sum = fresh("cast"), factor = fresh("factor"),
                          y = fresh("y");
        node("MatMulInteger", {q, w[0], z, w[2]}, {sum});
        set(node("Cast", {sum}, {real_sum}), "to", std::int64_t{1});
        node("Mul", {s, w[1]}, {factor});
        node("Mul", {real_sum, factor}, {y});
        dims shape = t.shape;
        shape.back() = to;
        if (chance(60)) {
            const std::string biased = fresh("biased");
            node("Add", {y, reals({to})}, {biased});
            return add({biased, shape});
        }
        add({y, shape});
    }

    void binary(tensor t) {
        std::vector<std::size_t> equal;
        for (std::size_t i = 0; i < tensors_.size(); i++)
            if (tensors_[i].shape == t.shape)
                equal.push_back(i);
        tensor &other =
            tensors_[equal[static_cast<std::size_t>(pick(0, static_cast<int>(equal.size()) - 1))]];
        const dims shape = t.shape;
        const std::string op = chance(70) ? "Add" : "Mul";
        if (chance(30)) {
            const tensor a = codes(t), c = codes(other);
            tensor y{fresh("q"), shape, true, scale(), zero_point()};
            node("QLinear" + op,
                 {a.name, a.scale, a.zero_point, c.name, c.scale, c.zero_point, y.scale, y.zero_point},
                 {y.name}, microsoft);
            return add(y);
        }
        const std::string a = real_of_codes(t), c = real_of_codes(other), y = fresh("y");
        node(op, {a, c}, {y});
        end_in(y, shape);
    }

    void pooling(tensor t) {
        tensor x = codes(t);
        const std::string r = real(x), y = fresh("y");
        dims shape = x.shape;
        if (chance(50)) {
            onnx::NodeProto &n = node("MaxPool", {r}, {y});
            set(n, "kernel_shape", dims{3, 3});
            set(n, "pads", dims{1, 1, 1, 1});
            tensor q{fresh("q"), shape, true, x.scale, x.zero_point};
            node("QuantizeLinear", {y, q.scale, q.zero_point}, {q.name});
            return add(q);
        }
        node("GlobalAveragePool", {r}, {y});
        shape[2] = shape[3] = 1;
        add(quantized(y, shape));
    }

    void softmax(tensor t) {
        const std::string x = real(t), y = fresh("y");
        set(node("Softmax", {x}, {y}), "axis", std::int64_t{-1});
        end_in(y, t.shape);
    }

    void unary(tensor t) {
        static const char *const operators[] = {"Sigmoid", "LeakyRelu", "Relu", "Tanh"};
        const std::string x = real_of_codes(t), y = fresh("y");
        node(operators[pick(0, 3)], {x}, {y});
        end_in(y, t.shape);
    }

    void qlinear_unary(tensor t) {
        const tensor x = codes(t);
        tensor y{fresh("q"), x.shape, true, scale(), zero_point()};
        const bool is_sigmoid = chance(50);
        onnx::NodeProto &n =
            node(is_sigmoid ? "QLinearSigmoid" : "QLinearLeakyRelu",
                 {x.name, x.scale, x.zero_point, y.scale, y.zero_point}, {y.name}, microsoft);
        if (!is_sigmoid)
            set(n, "alpha", 0.1f);
        add(y);
    }

    /// Operators that Octet lacks.
    void foreign(tensor t) {
        static const char *const operators[] = {"Sinh", "Cosh", "Atan", "Asinh"};
        const std::string x = real(t), y = fresh("y");
        node(operators[pick(0, 3)], {x}, {y});
        end_in(y, t.shape);
    }

    void floats(tensor t) {
        const std::string x = real(t), y = fresh("y");
        if (chance(50))
            node("Mul", {x, reals({1})}, {y});
        else
            node("Add", {x, reals({t.shape.back()})}, {y});
        add({y, t.shape});
    }

    void flattened(tensor t) {
        const tensor x = codes(t);
        tensor copy = x;
        const std::string r = real(copy), y = fresh("y");
        set(node("Flatten", {r}, {y}), "axis", std::int64_t{1});
        tensor q{fresh("q"), {x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]}, true, x.scale, x.zero_point};
        node("QuantizeLinear", {y, q.scale, q.zero_point}, {q.name});
        add(q);
    }

    void concatenation(tensor t) {
        const std::string a = real_of_codes(t), c = real_of_codes(t), y = fresh("y");
        set(node("Concat", {a, c}, {y}), "axis", std::int64_t{1});
        dims shape = t.shape;
        shape[1] *= 2;
        end_in(y, shape);
    }

    void finish_outputs() {
        std::size_t outputs = 0;
        for (std::size_t i = tensors_.size(); i-- > 0;)
            if (const tensor t = tensors_[i];
                (!t.is_read && i >= input_dims.size()) || (outputs == 0 && i == 0)) {
                const std::string name = fresh("y");
                tensor copy = t;
                node("Identity", {chance(50) ? t.name : real(copy)}, {name});
                output(name);
                outputs++;
            }
    }

    std::mt19937 random_;
    std::vector<tensor> tensors_;
    int count_ = 0;
    bool is_signed_ = false, open_batch_ = false;
};

} // namespace octet::tests
