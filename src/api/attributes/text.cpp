#include "api/attributes/text.hpp"

// One token per attribute, its fields separated by colons. Values of a mask that has many are kept as their
// range: a verbose line stays readable, and the problem that is read back has the same masks, counts and ranges,
// hence the same plan, though not the same results.

#include <algorithm>

#include "api/format_tag.hpp"
#include "api/tokens.hpp"
#include "common/layout/layout.hpp"
#include "common/layout/runtime.hpp"
#include "common/names.hpp"

namespace octet::impl {

std::string argument_name(int arg) {
    if (arg >= OCTET_ARG_MULTIPLE_SRC && arg < 2 * OCTET_ARG_MULTIPLE_SRC)
        return text("src", arg - OCTET_ARG_MULTIPLE_SRC);
    switch (arg) {
    case OCTET_ARG_SRC_0:
        return "src";
    case OCTET_ARG_SRC_1:
        return "src1";
    case OCTET_ARG_WEIGHTS:
        return "weights";
    case OCTET_ARG_BIAS:
        return "bias";
    case OCTET_ARG_DST:
        return "dst";
    default:
        return argument_to_string(arg);
    }
}

int argument_of(const std::string &name, bool has_numbered_sources) {
    for (const int arg : {OCTET_ARG_WEIGHTS, OCTET_ARG_BIAS, OCTET_ARG_DST})
        if (argument_name(arg) == name)
            return arg;
    const bool is_source = name.rfind("src", 0) == 0;
    if (is_source && has_numbered_sources && name.size() > 3) {
        const int index = number_of<int>(name.substr(3));
        if (index >= 0 && index < OCTET_ARG_MULTIPLE_SRC)
            return OCTET_ARG_MULTIPLE_SRC + index;
    }
    if (!has_numbered_sources && (name == "src" || name == "src0"))
        return OCTET_ARG_SRC_0;
    if (!has_numbered_sources && name == "src1")
        return OCTET_ARG_SRC_1;
    throw_invalid("tensor '", name, "', allowed: ",
                  has_numbered_sources ? "src0, src1, …, dst" : "src, src1, weights, bias, dst");
}

namespace {

constexpr std::size_t max_listed_values = 8;

// ---- values

std::string value_text(float v) { return text(v); }
std::string value_text(double v) { return text(v); }
std::string value_text(std::int32_t v) { return text(v); }
/// "multiplier@shift", with an offset "multiplier@shift@offset".
std::string value_text(const fixed_point_multiplier &m) {
    return text(m.multiplier, "@", m.shift, m.offset != 0 ? text("@", m.offset) : "");
}

template <typename T> void read_value(const std::string &given, T &value) { value = number_of<T>(given); }
void read_value(const std::string &given, fixed_point_multiplier &m) {
    const std::vector<std::string> parts = split(given, '@');
    if (parts.size() < 2 || parts.size() > 3)
        throw_invalid("'", given, "', allowed: multiplier@shift or multiplier@shift@offset");
    m = {number_of<std::int32_t>(parts[0]), number_of<std::int32_t>(parts[1]),
         parts.size() == 3 ? number_of<std::int32_t>(parts[2]) : 0};
}

template <typename T> std::pair<T, T> bounds_of(const std::vector<T> &values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {*low, *high};
}
/// Each component has bounds of its own.
std::pair<fixed_point_multiplier, fixed_point_multiplier>
bounds_of(const std::vector<fixed_point_multiplier> &values) {
    std::pair<fixed_point_multiplier, fixed_point_multiplier> bounds{values.front(), values.front()};
    auto &[low, high] = bounds;
    for (const fixed_point_multiplier &m : values) {
        low = {std::min(low.multiplier, m.multiplier), std::min(low.shift, m.shift),
               std::min(low.offset, m.offset)};
        high = {std::max(high.multiplier, m.multiplier), std::max(high.shift, m.shift),
                std::max(high.offset, m.offset)};
    }
    return bounds;
}

/// Value i of n, evenly from low to high; both ends exact.
template <typename T> T between(T low, T high, std::size_t i, std::size_t n) {
    if (i == 0 || i + 1 == n)
        return i == 0 ? low : high;
    const double part = static_cast<double>(i) / static_cast<double>(n - 1);
    return static_cast<T>(static_cast<double>(low) +
                          (static_cast<double>(high) - static_cast<double>(low)) * part);
}
fixed_point_multiplier between(const fixed_point_multiplier &low, const fixed_point_multiplier &high,
                               std::size_t i, std::size_t n) {
    return {between(low.multiplier, high.multiplier, i, n), between(low.shift, high.shift, i, n),
            between(low.offset, high.offset, i, n)};
}

/// ":mask:*", ":mask:v/v/v" or ":mask:low..high".
template <typename T> std::string masked_text(const masked_values<T> &values) {
    std::string s = text(":", values.mask, ":", values.runtime ? "*" : "");
    if (values.runtime)
        return s;
    if (values.values.size() > max_listed_values) {
        const auto [low, high] = bounds_of(values.values);
        return s + value_text(low) + ".." + value_text(high);
    }
    for (std::size_t i = 0; i < values.values.size(); i++)
        s += (i ? "/" : "") + value_text(values.values[i]);
    return s;
}

template <typename T>
masked_values<T> read_masked(const std::string &mask, const std::string &given, const memory_desc &tensor) {
    masked_values<T> result;
    result.mask = number_of<int>(mask);
    if (given == "*") {
        result.runtime = true;
        return result;
    }
    const std::size_t dots = given.find("..");
    if (dots == std::string::npos) {
        for (const std::string &part : split(given, '/'))
            read_value(part, result.values.emplace_back());
        return result;
    }
    T low{}, high{};
    read_value(given.substr(0, dots), low);
    read_value(given.substr(dots + 2), high);
    constexpr dim_t most = dim_t{1} << 24; // a typing error is no reason to fill the memory
    const dim_t n = masked_count(result.mask, at_size(tensor, 0)); // none for a size that is not known
    if (n < 1 || n > most)
        throw_invalid("'", given, "' with mask ", mask, " stands for ", n, " values, allowed: 1 to ", most);
    for (dim_t i = 0; i < n; i++)
        result.values.push_back(between(low, high, static_cast<std::size_t>(i), static_cast<std::size_t>(n)));
    return result;
}

// ---- post-ops

struct post_op_text {
    std::string operator()(const post_op::sum &op) const {
        return text("sum:", op.scale, ":", op.zero_point, ":", to_string(op.type));
    }
    std::string operator()(const post_op::eltwise &op) const {
        return text(to_string(op.algorithm), ":", op.alpha, ":", op.beta, ":", op.scale);
    }
    std::string operator()(const post_op::binary &op) const {
        return text(to_string(op.algorithm), ":", tensor_text(op.src1.data, spelling::activations));
    }
    std::string operator()(const post_op::prelu &op) const { return text("prelu:", op.mask); }
    std::string operator()(const post_op::clip &op) const { return text("clip:", op.low, ":", op.high); }
    std::string operator()(const post_op::add &op) const { return text("add:", op.value); }
    std::string operator()(const post_op::rescaled_sum &op) const {
        return text("rescaled_sum:", value_text(op.multiplier), ":", op.zero_point, ":", to_string(op.type),
                    ":", to_string(op.rule));
    }
    std::string operator()(const post_op::leaky_relu &op) const {
        return text("leaky_relu:", value_text(op.identity), ":", value_text(op.alpha), ":",
                    to_string(op.rule));
    }
    std::string operator()(const post_op::table &op) const {
        static constexpr char digits[] = "0123456789abcdef";
        std::string s = text("table:", to_string(op.type), ":");
        for (const std::uint8_t entry : op.entries)
            s += {digits[entry / 16], digits[entry % 16]};
        return s;
    }
    std::string operator()(const post_op::qlinear_add &op) const {
        return text("qlinear_add:", op.scale, ":", op.dst_scale, ":", op.shift, ":", op.zero_point, ":",
                    op.is_second ? "second" : "first");
    }
    std::string operator()(const post_op::scaled_add &op) const {
        return text("scaled_add:", value_text(op.multipliers.a), ":", value_text(op.multipliers.b), ":",
                    value_text(op.multipliers.dst), ":", op.zero_point, ":", op.dst_zero_point, ":",
                    to_string(op.rule));
    }
};

/// The fields of one token, taken in order.
class fields {
public:
    explicit fields(const std::string &token) : token_(token), parts_(split(token, ':')) {}

    std::string next() {
        if (at_ == parts_.size())
            throw_invalid("'", token_, "' ends too early");
        return parts_[at_++];
    }
    template <typename T> T value() {
        T v{};
        read_value(next(), v);
        return v;
    }
    template <typename Enum> Enum name() {
        const std::string given = next();
        Enum value{};
        if (!from_name(given, value))
            throw_invalid("'", token_, "': '", given, "' is no name that fits there");
        return value;
    }
    requantization_rule rule() { return requantization_rule_from_string(next().c_str()); }
    std::string rest() {
        std::string s = next();
        while (at_ < parts_.size())
            s += ":" + parts_[at_++];
        return s;
    }
    void finish() const {
        if (at_ != parts_.size())
            throw_invalid("'", token_, "': '", parts_[at_], "' is one field too many");
    }

private:
    const std::string &token_;
    std::vector<std::string> parts_;
    std::size_t at_ = 0;
};

post_op::table read_table(fields &f) {
    post_op::table op;
    op.type = f.name<data_type>();
    const std::string hex = f.next();
    if (hex.size() != 2 * op.entries.size())
        throw_invalid("a table has ", hex.size(), " hexadecimal digits, allowed: ", 2 * op.entries.size());
    for (std::size_t i = 0; i < op.entries.size(); i++) {
        const auto [end, problem] = std::from_chars(&hex[2 * i], &hex[2 * i] + 2, op.entries[i], 16);
        if (problem != std::errc() || end != &hex[2 * i] + 2)
            throw_invalid("'", hex.substr(2 * i, 2), "' in a table, allowed: hexadecimal digits");
    }
    return op;
}

bool read_integer_stage(const std::string &kind, fields &f, post_ops &ops) {
    using mult = fixed_point_multiplier;
    // Braces take fields from left to right.
    if (kind == "clip") {
        const auto low = f.value<std::int32_t>();
        ops.append_clip(low, f.value<std::int32_t>());
    } else if (kind == "add")
        ops.append_add(f.value<std::int32_t>());
    else if (kind == "rescaled_sum")
        ops.append_rescaled_sum(
            post_op::rescaled_sum{f.value<mult>(), f.value<std::int32_t>(), f.name<data_type>(), f.rule()});
    else if (kind == "leaky_relu")
        ops.append_leaky_relu(post_op::leaky_relu{f.value<mult>(), f.value<mult>(), f.rule()});
    else if (kind == "table")
        ops.append_table(read_table(f));
    else if (kind == "scaled_add")
        ops.append_scaled_add(
            post_op::scaled_add{add_multipliers{f.value<mult>(), f.value<mult>(), f.value<mult>()},
                                f.value<std::int32_t>(), f.value<std::int32_t>(), f.rule()});
    else
        return false;
    return true;
}

void read_post_op(fields &f, post_ops &ops) {
    const std::string kind = f.next();
    algorithm alg = algorithm::undef;
    if (read_integer_stage(kind, f, ops))
        return;
    if (kind == "sum") {
        const auto scale = f.value<float>();
        const auto zero_point = f.value<std::int32_t>();
        ops.append_sum(scale, zero_point, f.name<data_type>());
    } else if (kind == "prelu") {
        ops.append_prelu(f.value<int>());
    } else if (kind == "qlinear_add") {
        post_op::qlinear_add op{f.value<float>(), f.value<float>(), f.value<float>(), f.value<std::int32_t>(),
                                false};
        op.is_second = f.next() == "second";
        ops.append_qlinear_add(op);
    } else if (!from_name(kind, alg)) {
        throw_invalid("post_op '", kind,
                      "', allowed: sum, eltwise_*, binary_*, prelu, clip, add, rescaled_sum, ",
                      "leaky_relu, table, qlinear_add, scaled_add");
    } else if (kind.rfind("binary_", 0) == 0) {
        ops.append_binary(alg, tensor_from_text(f.rest()));
    } else {
        const auto alpha = f.value<float>();
        const auto beta = f.value<float>();
        ops.append_eltwise(f.value<float>(), alg, alpha, beta);
    }
}

// ---- attributes

template <typename T> masked_values<T> read_masked(fields &f, const memory_desc &tensor) {
    const std::string mask = f.next();
    return read_masked<T>(mask, f.next(), tensor);
}

/// What the setters take for values given at execution.
std::vector<float> or_runtime(const masked_values<float> &v) {
    return v.runtime ? std::vector<float>{runtime_f32_value()} : v.values;
}
std::vector<std::int32_t> or_runtime(const masked_values<std::int32_t> &v) {
    return v.runtime ? std::vector<std::int32_t>{OCTET_RUNTIME_S32_VAL} : v.values;
}

} // namespace

std::string attribute_text(const primitive_attr &attr) {
    std::string s;
    const auto add = [&s](const auto &...parts) { s += text(s.empty() ? "" : " ", parts...); };
    if (attr.get_scratchpad_mode() != scratchpad_mode::library)
        add("scratchpad:", to_string(attr.get_scratchpad_mode()));
    if (attr.rule() != requantization_rule::automatic)
        add("rule:", to_string(attr.rule()));
    if (attr.multipliers().is_set())
        add("multipliers", masked_text(attr.multipliers()));
    if (attr.real_scales().is_set())
        add(attr.real_scales_are_f32() ? "real_scales_f32" : "real_scales", masked_text(attr.real_scales()));
    for (const auto &[arg, multiplier] : attr.input_multipliers())
        add("input_multiplier:", argument_name(arg), ":", value_text(multiplier));
    if (attr.output_scales().is_set())
        add("output_scales", masked_text(attr.output_scales()));
    for (const auto &[arg, values] : attr.scales())
        add("scales:", argument_name(arg), masked_text(values));
    for (const auto &[arg, values] : attr.zero_points())
        add("zero_points:", argument_name(arg), masked_text(values));
    for (const post_op_entry &entry : attr.get_post_ops().entries())
        add("post_op:", std::visit(post_op_text{}, entry));
    return s;
}

primitive_attr attributes_from_text(const std::vector<std::string> &tokens, bool has_numbered_sources,
                                    const tensor_by_name &tensor) {
    primitive_attr attr;
    post_ops ops;
    requantization_rule rule = requantization_rule::automatic; // its factors come in tokens of their own
    for (const std::string &token : tokens) {
        fields f(token);
        const std::string key = f.next();
        if (key == "scratchpad") {
            attr.set_scratchpad_mode(f.name<scratchpad_mode>());
        } else if (key == "rule") {
            rule = f.rule();
            attr.set_requantization(rule);
        } else if (key == "multipliers") {
            const auto v = read_masked<fixed_point_multiplier>(f, tensor("dst"));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "real_scales") {
            const auto v = read_masked<double>(f, tensor("dst"));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "real_scales_f32") {
            const auto v = read_masked<float>(f, tensor("dst"));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "input_multiplier") {
            const int arg = argument_of(f.next(), has_numbered_sources);
            attr.set_input_multiplier(arg, f.value<fixed_point_multiplier>());
        } else if (key == "output_scales") {
            const auto v = read_masked<float>(f, tensor("dst"));
            attr.set_output_scales(v.mask, or_runtime(v));
        } else if (key == "scales") {
            const std::string name = f.next();
            const auto v = read_masked<float>(f, tensor(name));
            attr.set_scales(argument_of(name, has_numbered_sources), v.mask, or_runtime(v));
        } else if (key == "zero_points") {
            const std::string name = f.next();
            const auto v = read_masked<std::int32_t>(f, tensor(name));
            attr.set_zero_points(argument_of(name, has_numbered_sources), v.mask, or_runtime(v));
        } else if (key == "post_op") {
            read_post_op(f, ops);
        } else {
            throw_invalid(
                "'", token,
                "' is neither a tensor nor a parameter nor an attribute of the operation; attributes are ",
                "rule, multipliers, real_scales, input_multiplier, output_scales, scales, zero_points, "
                "post_op, scratchpad");
        }
        f.finish();
    }
    attr.set_post_ops(ops);
    return attr;
}

} // namespace octet::impl
