// Each attribute is written and read by a pair of functions side by side, so that both have the same spelling.
// SPDX-License-Identifier: Apache-2.0
#include "api/attributes/text.hpp"

// One token per attribute, its fields separated by colons. Values of a mask that has many are kept as their
// range: a verbose line stays readable, and the problem that is read back has the same masks, counts and ranges,
// hence the same plan, though not the same results.

#include <algorithm>

#include "api/attributes/post_op_tensors.hpp"
#include "api/tensors/format_tag.hpp"
#include "api/tensors/tensor_from_text.hpp"
#include "common/layout/layout.hpp"
#include "common/layout/runtime.hpp"
#include "common/members.hpp"
#include "common/names.hpp"
#include "common/tokens.hpp"

namespace octet::impl {

namespace {

constexpr std::size_t max_listed_values = 8;

// ---- values

std::string value_text(float v) { return text(v); }
std::string value_text(double v) { return text(v); }
std::string value_text(std::int32_t v) { return text(v); }
std::string value_text(dim_t v) { return text(v); }
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

/// ":mask:*", with groups and a type ":mask:*:64x1:f16", ":mask:v/v/v" or ":mask:low..high".
template <typename T> std::string masked_text(const masked_values<T> &values) {
    std::string s = text(":", values.mask, ":", values.runtime ? "*" : "");
    if (values.type != data_type::undef)
        return text(s, ":",
                    values.groups.empty() ? "none" : joined(values.groups.data(), values.groups.size()), ":",
                    to_string(values.type));
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

/// Adds the fields of a post-op, in the order of its members, to its name; an algorithm takes the name's place.
struct post_op_text {
    std::string &s;

    template <typename T> void operator()(const T &x) const {
        if constexpr (std::is_enum_v<T>)
            add(to_string(x));
        else if constexpr (std::is_same_v<T, add_multipliers>)
            for_each_member(x, *this);
        else
            add(value_text(x));
    }
    void operator()(const algorithm &alg) const { s = to_string(alg); }
    void operator()(const memory::desc &md) const { add(tensor_text(md.data, spelling::activations)); }
    void operator()(const masked_values<float> &scales) const { s += masked_text(scales); }
    void operator()(const bool &is_second) const { add(is_second ? "second" : "first"); }
    void operator()(const std::array<std::uint8_t, 256> &entries) const {
        static constexpr char digits[] = "0123456789abcdef";
        add("");
        for (const std::uint8_t entry : entries)
            s += {digits[entry / 16], digits[entry % 16]};
    }
    void add(const std::string &field) const { s += ":" + field; }
};

std::string text_of(const post_op_entry &entry) {
    std::string s = facts_of(entry).name;
    std::visit([&](const auto &op) { for_each_member(op, post_op_text{s}); }, entry);
    return s;
}

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
    bool is_at_end() const { return at_ == parts_.size(); }
    void finish() const {
        if (at_ != parts_.size())
            throw_invalid("'", token_, "': '", parts_[at_], "' is one field too many");
    }

private:
    const std::string &token_;
    std::vector<std::string> parts_;
    std::size_t at_ = 0;
};

/// Reads what post_op_text writes into the members of a post-op.
struct post_op_reader {
    fields &f;
    algorithm alg;          ///< the algorithm that the name stands for
    const memory_desc &dst; ///< tells how many values a mask has

    template <typename T> void operator()(T &x) const {
        if constexpr (std::is_enum_v<T>)
            x = f.name<T>();
        else if constexpr (std::is_same_v<T, add_multipliers>)
            for_each_member(x, *this);
        else
            x = f.value<T>();
    }
    void operator()(algorithm &x) const { x = alg; }
    void operator()(requantization_rule &x) const { x = f.rule(); }
    void operator()(memory::desc &x) const { x = tensor_from_text(f.rest()); }
    void operator()(masked_values<float> &scales) const {
        const std::string mask = f.next();
        scales = read_masked<float>(mask, f.next(), dst);
    }
    void operator()(bool &is_second) const { is_second = f.next() == "second"; }
    void operator()(std::array<std::uint8_t, 256> &entries) const {
        const std::string hex = f.next();
        if (hex.size() != 2 * entries.size())
            throw_invalid("a table has ", hex.size(), " hexadecimal digits, allowed: ", 2 * entries.size());
        for (std::size_t i = 0; i < entries.size(); i++) {
            const auto [end, problem] = std::from_chars(&hex[2 * i], &hex[2 * i] + 2, entries[i], 16);
            if (problem != std::errc() || end != &hex[2 * i] + 2)
                throw_invalid("'", hex.substr(2 * i, 2), "' in a table, allowed: hexadecimal digits");
        }
    }
};

/// "eltwise_*", or the name of one that has no algorithm.
std::string family_of(const post_op_facts &facts) {
    const bool has_algorithm = facts.kind == primitive_kind::eltwise || facts.kind == primitive_kind::binary;
    return facts.name + std::string(has_algorithm ? "_*" : "");
}

template <std::size_t... i> post_op_entry make_post_op(std::size_t alternative, std::index_sequence<i...>) {
    post_op_entry entry;
    ((i == alternative ? static_cast<void>(entry.emplace<i>()) : static_cast<void>(0)), ...);
    return entry;
}

/// Without its fields, but for the algorithm that stands for its name.
post_op_entry post_op_named(const std::string &name, algorithm &alg) {
    const bool is_algorithm = from_name(name, alg);
    const bool is_binary = is_algorithm && name.rfind("binary_", 0) == 0;
    const std::string family = is_binary ? "binary_*" : is_algorithm ? "eltwise_*" : name;
    std::string allowed;
    for (const post_op_facts &facts : post_op_table) {
        if (family_of(facts) == family)
            return make_post_op(facts.alternative,
                                std::make_index_sequence<std::variant_size_v<post_op_entry>>());
        allowed += (allowed.empty() ? "" : ", ") + family_of(facts);
    }
    throw_invalid("post_op '", name, "', allowed: ", allowed);
}

void read_post_op(fields &f, const memory_desc &dst, post_ops &ops) {
    algorithm alg = algorithm::undef;
    post_op_entry entry = post_op_named(f.next(), alg);
    std::visit([&](auto &op) { for_each_member(op, post_op_reader{f, alg, dst}); }, entry);
    post_op_tensors::append(ops, std::move(entry));
}

// ---- attributes

template <typename T> masked_values<T> read_masked(fields &f, const memory_desc &tensor) {
    const std::string mask = f.next();
    return read_masked<T>(mask, f.next(), tensor);
}

/// The groups and the type that follow values with groups.
template <typename T> void read_groups(fields &f, masked_values<T> &v) {
    if (!v.runtime || f.is_at_end())
        return;
    const std::string groups = f.next();
    if (groups != "none")
        for (const std::string &length : split(groups, 'x'))
            v.groups.push_back(number_of<dim_t>(length));
    v.type = f.name<data_type>();
}

/// Returns the values as setters take them, runtime ones included.
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
    if (const std::optional<source_quantization> &q = attr.get_source_quantization())
        add("source:", to_string(q->by), ":", to_string(q->mode), ":", to_string(q->code), ":",
            to_string(q->span));
    if (const std::optional<combination> order = attr.get_combination())
        add("combination:", to_string(*order));
    if (!attr.rnn_data().empty())
        add("rnn_data:", value_text(attr.rnn_data()[0]), ":", value_text(attr.rnn_data()[1]));
    if (attr.rnn_weights_scales().is_set())
        add("rnn_weights", masked_text(attr.rnn_weights_scales()));
    if (attr.rnn_projection_scales().is_set())
        add("rnn_projection", masked_text(attr.rnn_projection_scales()));
    if (attr.get_prefetched_bytes() > 0)
        add("prefetch:", attr.get_prefetched_bytes());
    for (const post_op_entry &entry : attr.get_post_ops().entries())
        add("post_op:", text_of(entry));
    return s;
}

primitive_attr attributes_from_text(const std::vector<std::string> &tokens, bool has_numbered_sources,
                                    const std::map<int, memory::desc> &tensors) {
    primitive_attr attr;
    post_ops ops;
    const auto tensor = [&](int arg) {
        const auto found = tensors.find(arg);
        return found == tensors.end() ? memory_desc() : found->second.data;
    };
    const auto rnn_weights = [&](int arg) { // a reorder has no weights, it makes them
        return tensors.count(arg) ? tensor(arg) : tensor(OCTET_ARG_DST);
    };
    const auto next_argument = [&](fields &f) { return argument_of(f.next(), has_numbered_sources); };
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
            const auto v = read_masked<fixed_point_multiplier>(f, tensor(OCTET_ARG_DST));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "real_scales") {
            const auto v = read_masked<double>(f, tensor(OCTET_ARG_DST));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "real_scales_f32") {
            const auto v = read_masked<float>(f, tensor(OCTET_ARG_DST));
            attr.set_requantization(rule, v.mask, v.values);
        } else if (key == "input_multiplier") {
            const int arg = next_argument(f);
            attr.set_input_multiplier(arg, f.value<fixed_point_multiplier>());
        } else if (key == "output_scales") {
            const auto v = read_masked<float>(f, tensor(OCTET_ARG_DST));
            attr.set_output_scales(v.mask, or_runtime(v));
        } else if (key == "scales") {
            const int arg = next_argument(f);
            auto v = read_masked<float>(f, tensor(arg));
            read_groups(f, v);
            if (v.type != data_type::undef)
                attr.set_scales(arg, v.mask, v.groups, v.type);
            else
                attr.set_scales(arg, v.mask, or_runtime(v));
        } else if (key == "zero_points") {
            const int arg = next_argument(f);
            auto v = read_masked<std::int32_t>(f, tensor(arg));
            read_groups(f, v);
            if (v.type != data_type::undef)
                attr.set_zero_points(arg, v.mask, v.groups, v.type);
            else
                attr.set_zero_points(arg, v.mask, or_runtime(v));
        } else if (key == "source") {
            source_quantization q;
            q.by = f.name<source_quantizer>();
            q.mode = f.name<source_mode>();
            q.code = f.name<data_type>();
            q.span = f.name<source_span>();
            attr.set_source_quantization(q);
        } else if (key == "combination") {
            attr.set_combination(f.name<combination>());
        } else if (key == "rnn_data") {
            const float scale = f.value<float>();
            attr.set_rnn_data_qparams(scale, f.value<float>());
        } else if (key == "rnn_weights") {
            const auto v = read_masked<float>(f, rnn_weights(OCTET_ARG_WEIGHTS_LAYER));
            attr.set_rnn_weights_qparams(v.mask, v.values);
        } else if (key == "rnn_projection") {
            const auto v = read_masked<float>(f, rnn_weights(OCTET_ARG_WEIGHTS_PROJECTION));
            attr.set_rnn_weights_projection_qparams(v.mask, v.values);
        } else if (key == "prefetch") {
            attr.set_prefetched_bytes(f.value<dim_t>());
        } else if (key == "post_op") {
            read_post_op(f, tensor(OCTET_ARG_DST), ops);
        } else {
            throw_invalid(
                "'", token,
                "' is neither a tensor nor a parameter nor an attribute of the operation; attributes are ",
                "rule, multipliers, real_scales, input_multiplier, output_scales, scales, zero_points, "
                "source, combination, rnn_data, rnn_weights, rnn_projection, prefetch, post_op, scratchpad");
        }
        f.finish();
    }
    attr.set_post_ops(ops);
    return attr;
}

} // namespace octet::impl
