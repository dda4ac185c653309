// Everything of an epilogue that decides the emitted code, as a text.

#include "common/bits.hpp"
#include "common/element.hpp"
#include "jit/epilogue/epilogue.hpp"

namespace octet::impl::jit {

namespace {

class key_writer {
public:
    template <typename... Numbers> void add(Numbers... numbers) { (add_one(numbers), ...); }
    void add(const fixed_point_multiplier &m) { add(m.multiplier, m.shift, m.offset); }
    void mark(const char *text) { key_ += text; }
    const std::string &key() const { return key_; }

    // What follows, for each kind of post-op. The operands of binary and prelu are planes or arguments.

    void operator()(const post_op::sum &op) { add(op.scale, op.zero_point, op.type); }
    void operator()(const post_op::eltwise &op) { add(op.algorithm, op.alpha, op.beta, op.scale); }
    void operator()(const post_op::binary &op) { add(op.algorithm, op.src1.data.data_type); }
    void operator()(const post_op::prelu &) {}
    void operator()(const post_op::clip &op) { add(op.low, op.high); }
    void operator()(const post_op::add &op) { add(op.value); }
    void operator()(const post_op::rescaled_sum &op) {
        add(op.rule, op.zero_point, op.type);
        add(op.multiplier);
    }
    void operator()(const post_op::leaky_relu &op) {
        add(op.rule);
        add(op.identity);
        add(op.alpha);
    }
    void operator()(const post_op::table &op) {
        add(op.type);
        key_.append(op.entries.begin(), op.entries.end());
    }
    void operator()(const post_op::qlinear_add &op) {
        add(op.scale, op.dst_scale, op.shift, op.zero_point, op.is_second);
    }
    void operator()(const post_op::scaled_add &op) {
        add(op.rule, op.zero_point, op.dst_zero_point);
        add(op.multipliers.a);
        add(op.multipliers.b);
        add(op.multipliers.dst);
    }

private:
    template <typename T> void add_one(T x) {
        if constexpr (std::is_same_v<T, float>)
            key_ += std::to_string(bits(x)); // a text of the value would lose some
        else
            key_ += std::to_string(static_cast<std::int64_t>(x));
        key_ += ',';
    }

    std::string key_;
};

} // namespace

std::string epilogue_plan::code_key() const {
    key_writer to;
    to.add(e_.rule, rule_.shifts_left, rule_.short_form, rule_.real_is_f32, rule_.has_negative,
           rule_.clamps_negative, e_.dst.data_type);
    to.add(planes_.count, planes_.weights_zero_point, planes_.bias, planes_.scale, planes_.weights_scale,
           planes_.inverse_dst_scale, planes_.zero_point, planes_.low, planes_.high, planes_.rule);
    to.add(bytes_.adds_zero_point, bytes_.low, bytes_.high, bytes_.added, is_bounded_);
    if (bytes_.table >= 0) {
        to.mark("|table");
        to.add(shape_.has_byte_permutes);
        to(std::get<post_op::table>(e_.post_ops[static_cast<std::size_t>(bytes_.table)]));
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(emitted_post_ops_); i++) {
        to.mark("|");
        to.add(e_.post_ops[i].index(), planes_.post_op[i]);
        std::visit(to, e_.post_ops[i]);
    }
    return to.key();
}

} // namespace octet::impl::jit
