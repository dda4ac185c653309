// A problem in one line, for the message of a failure.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "oracle/problem.hpp"

namespace octet::oracle {

namespace {

std::string text(const fixed_point_multiplier &m) {
    return std::to_string(m.multiplier) + '^' + std::to_string(m.shift) +
           (m.offset ? '+' + std::to_string(m.offset) : "");
}
template <typename T> T text(const T &number) { return number; }

template <typename T> void print(std::ostream &out, const char *name, const masked_values<T> &m) {
    if (m.values.empty())
        return;
    out << ' ' << name << (m.runtime ? ":runtime" : "") << ":mask" << m.mask << '=';
    for (std::size_t i = 0; i < std::min<std::size_t>(m.values.size(), 3); i++)
        out << (i ? "," : "") << text(m.values[i]);
    out << (m.values.size() > 3 ? ",…" : "");
}
void print(std::ostream &out, const char *name, const dims &d) {
    for (std::size_t i = 0; i < d.size(); i++)
        out << (i ? "x" : name) << d[i];
}
struct stage_printer {
    std::ostream &out;
    void operator()(const post_op::sum &s) {
        out << "sum:" << s.scale << ':' << s.zero_point << ':' << static_cast<int>(s.type);
    }
    void operator()(const post_op::eltwise &s) {
        out << "eltwise" << static_cast<int>(s.algorithm) << ':' << s.alpha << ':' << s.beta << ':'
            << s.scale;
    }
    void operator()(const post_op::binary &s) {
        out << "binary" << static_cast<int>(s.algorithm) << ':' << s.src1.to_string();
    }
    void operator()(const post_op::prelu &s) { out << "prelu:mask" << s.mask; }
    void operator()(const post_op::clip &s) { out << "clip:" << s.low << ':' << s.high; }
    void operator()(const post_op::add &s) { out << "add:" << s.value; }
    void operator()(const post_op::rescaled_sum &s) {
        out << "rescaled_sum:" << text(s.multiplier) << ':' << s.zero_point << ':' << static_cast<int>(s.type)
            << ':' << to_string(s.rule);
    }
    void operator()(const post_op::leaky_relu &s) {
        out << "leaky_relu:" << text(s.identity) << ':' << text(s.alpha) << ':' << to_string(s.rule);
    }
    void operator()(const post_op::table &s) { out << "table:" << (s.type == data_type::u8 ? "u8" : "s8"); }
    void operator()(const post_op::qlinear_add &s) {
        out << "qlinear_add:" << s.scale << ':' << s.dst_scale << ':' << s.shift << ':' << s.zero_point << ':'
            << s.is_second;
    }
    void operator()(const post_op::depthwise &) {} // not drawn
    void operator()(const post_op::scaled_add &s) {
        out << "scaled_add:" << text(s.multipliers.a) << ':' << text(s.multipliers.b) << ':'
            << text(s.multipliers.dst) << ':' << s.zero_point << ':' << s.dst_zero_point << ':'
            << to_string(s.rule);
    }
};

} // namespace

const char *name_of(primitive_kind kind) {
    constexpr const char *names[] = {"undef",   "reorder",       "convolution", "inner_product", "matmul",
                                     "pooling", "softmax",       "binary",      "eltwise",       "sum",
                                     "prelu",   "deconvolution", "concat",      "resampling"};
    return names[static_cast<int>(kind)];
}

std::string describe(const problem &p) {
    std::ostringstream out;
    out << name_of(p.kind) << " alg" << static_cast<int>(p.alg) << ' ';
    if (p.kind == primitive_kind::eltwise)
        out << "alpha:" << p.alpha << " beta:" << p.beta << ' ';
    for (const tensor &t : p.srcs)
        out << t.desc.to_string() << "; ";
    for (const tensor *t : {&p.src, &p.weights, &p.bias})
        if (t->is_set())
            out << t->desc.to_string() << "; ";
    out << "to " << p.dst.desc.to_string();
    print(out, " kernel ", p.kernel);
    print(out, " strides ", p.strides);
    print(out, " dilates ", p.dilates);
    print(out, " padding ", p.padding_l);
    print(out, ",", p.padding_r);
    if (p.kind == primitive_kind::softmax || p.kind == primitive_kind::concat)
        out << " axis " << p.axis;
    if (p.kind == primitive_kind::resampling)
        out << " coordinates " << static_cast<int>(p.coordinates);
    const attributes &a = p.attr;
    out << " rule " << to_string(a.rule);
    print(out, "output_scales", a.output_scales);
    for (const auto &[arg, m] : a.scales)
        print(out, ("scales" + std::to_string(arg)).c_str(), m);
    for (const auto &[arg, m] : a.zero_points)
        print(out, ("zero_points" + std::to_string(arg)).c_str(), m);
    print(out, "multipliers", a.multipliers);
    print(out, a.real_scales_are_f32 ? "real_scales:f32" : "real_scales", a.real_scales);
    for (const auto &[arg, m] : a.input_multipliers)
        out << " input_multiplier" << arg << '=' << text(m);
    for (const post_op_entry &stage : a.post_ops) {
        out << ' ';
        std::visit(stage_printer{out}, stage);
    }
    out << " threads " << p.threads;
    return out.str();
}

} // namespace octet::oracle
