// A reader takes keyword arguments one by one, so that what is left over in the end is an error that names it.
// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace octet::python {
namespace {

/// A number of Python's own: most callers give these, and an array of one takes longer to make than a small
/// operation runs.
template <typename T> std::optional<T> plain_number(const py::handle &value) {
    if (std::is_floating_point_v<T> && PyFloat_CheckExact(value.ptr()))
        return static_cast<T>(PyFloat_AS_DOUBLE(value.ptr()));
    if (!PyLong_CheckExact(value.ptr()))
        return {};
    using wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    int overflow = 0;
    const auto number = static_cast<std::int64_t>(PyLong_AsLongLongAndOverflow(value.ptr(), &overflow));
    const T result = static_cast<T>(static_cast<wide>(number));
    if (overflow != 0 || (!std::is_floating_point_v<T> && result != number))
        return {};
    return result;
}

/// One number or one per channel, as a vector.
template <typename T> std::vector<T> numbers(const py::handle &value, const std::string &who) {
    if (const std::optional<T> number = plain_number<T>(value))
        return {*number};
    const py::array a = array_of(value, who);
    const char kind = a.dtype().kind();
    constexpr bool takes_real = std::is_floating_point_v<T>;
    const bool is_real = kind == 'f';
    if ((is_real && !takes_real) || (!is_real && kind != 'i' && kind != 'u'))
        throw py::type_error(who + " is " + py::cast<std::string>(py::str(a.dtype())) +
                             ", allowed: " + (takes_real ? "numbers" : "integers"));
    if (a.ndim() > 1)
        throw py::value_error(who + " has " + std::to_string(a.ndim()) +
                              " dimensions, allowed: a number or one per channel");
    using wide = std::conditional_t<takes_real, double, std::int64_t>;
    const auto dense = py::array_t<wide, py::array::c_style | py::array::forcecast>::ensure(a);
    std::vector<T> values;
    for (py::ssize_t i = 0; i < dense.size(); i++) {
        values.push_back(static_cast<T>(dense.data()[i]));
        if (!takes_real && static_cast<wide>(values.back()) != dense.data()[i])
            throw py::value_error(who + " has numbers outside of int32");
    }
    if (values.empty())
        throw py::value_error(who + " is empty, allowed: a number or one per channel");
    return values;
}

/// Keyword arguments that are taken one by one, so that what nobody took is not known.
class reader {
public:
    explicit reader(const py::dict &keywords) : keywords_(keywords), left_(keywords.size()) {}

    /// None counts as absent.
    std::optional<py::object> take(const std::string &name) {
        if (left_ == 0) // most calls have one or two
            return {};
        asked_.push_back(name);
        PyObject *value = PyDict_GetItemString(keywords_.ptr(), name.c_str());
        if (value == nullptr)
            return {};
        left_--;
        if (value == Py_None)
            return {};
        return py::reinterpret_borrow<py::object>(value);
    }
    void finish() const {
        if (left_ == 0)
            return;
        for (const auto &[name, value] : keywords_)
            if (std::find(asked_.begin(), asked_.end(), py::cast<std::string>(name)) == asked_.end())
                throw py::type_error("unknown argument '" + py::cast<std::string>(name) + "'");
    }

private:
    const py::dict &keywords_;
    std::size_t left_;
    std::vector<std::string> asked_;
};

fixed_point_multiplier one_multiplier(const py::handle &multiplier, const py::handle &shift,
                                      const std::string &prefix) {
    const auto m = numbers<std::int32_t>(multiplier, prefix + "multiplier"),
               s = numbers<std::int32_t>(shift, prefix + "shift");
    if (m.size() != 1 || s.size() != 1)
        throw py::value_error(prefix + "multiplier and " + prefix + "shift have " + std::to_string(m.size()) +
                              " and " + std::to_string(s.size()) + " values, allowed: 1");
    return {m[0], s[0], 0};
}

int mask_of(std::size_t count, int channel_mask) { return count == 1 ? 0 : channel_mask; }

void set_rule(primitive_attr &attr, reader &keywords, int dst_mask) {
    const auto name = keywords.take("rule"), multiplier = keywords.take("multiplier"),
               shift = keywords.take("shift"), scale = keywords.take("scale");
    if (name && !py::isinstance<py::str>(*name))
        throw py::type_error("rule is " + py::cast<std::string>(py::repr(*name)) + ", allowed: a name");
    const requantization_rule rule =
        name ? requantization_rule_from_string(py::cast<std::string>(*name).c_str())
             : requantization_rule::automatic;
    attr.set_requantization(rule);
    if (multiplier.has_value() != shift.has_value())
        throw py::type_error(multiplier ? "multiplier is given without shift"
                                        : "shift is given without multiplier");
    if (multiplier && scale)
        throw py::type_error("both multiplier and scale are given");
    if (multiplier) {
        const auto m = numbers<std::int32_t>(*multiplier, "multiplier"),
                   s = numbers<std::int32_t>(*shift, "shift");
        const std::size_t count = std::max(m.size(), s.size());
        if ((m.size() != count && m.size() != 1) || (s.size() != count && s.size() != 1))
            throw py::value_error("multiplier has " + std::to_string(m.size()) + " values, shift has " +
                                  std::to_string(s.size()));
        std::vector<fixed_point_multiplier> factors;
        for (std::size_t i = 0; i < count; i++)
            factors.push_back({m[m.size() == 1 ? 0 : i], s[s.size() == 1 ? 0 : i], 0});
        attr.set_requantization(rule, mask_of(count, dst_mask), factors);
    }
    if (!scale)
        return;
    const auto reals = numbers<double>(*scale, "scale");
    const int mask = mask_of(reals.size(), dst_mask);
    switch (parameters_of(rule)) {
    case rule_parameters::multipliers: {
        std::vector<fixed_point_multiplier> factors;
        for (const double real : reals)
            factors.push_back(from_double(rule, real));
        return attr.set_requantization(rule, mask, factors);
    }
    case rule_parameters::real_scales:
        return attr.set_requantization(rule, mask, reals);
    default:
        return attr.set_output_scales(mask, {reals.begin(), reals.end()});
    }
}

struct side {
    const char *scale, *zero_point;
    int arg, mask;
};

/// multiplier and shift of `prefix`: neither, or both.
std::optional<fixed_point_multiplier> input_multiplier(reader &keywords, const std::string &prefix) {
    const auto multiplier = keywords.take(prefix + "multiplier"), shift = keywords.take(prefix + "shift");
    if (!multiplier && !shift)
        return {};
    if (!multiplier || !shift)
        throw py::type_error(prefix + "multiplier and " + prefix + "shift are given one without the other");
    return one_multiplier(*multiplier, *shift, prefix);
}

std::string name_of(const py::object &value, const char *who) {
    if (!py::isinstance<py::str>(value))
        throw py::type_error(std::string(who) + " is " + py::cast<std::string>(py::repr(value)) +
                             ", allowed: a name");
    return py::cast<std::string>(value);
}

/// One value, one for each column, or several for a column.
int mask_of_values(const py::array &values, int column_mask, const char *who) {
    if (values.ndim() > 2)
        throw py::value_error(std::string(who) + " has " + std::to_string(values.ndim()) +
                              " dimensions, allowed: up to 2");
    return values.ndim() == 2 ? 3 : mask_of(static_cast<std::size_t>(values.size()), column_mask);
}

weight_values values_of_weights(reader &keywords, int column_mask) {
    weight_values v;
    v.has_columns_first = column_mask == 1;
    const auto scale = keywords.take("w_scale"), zero_point = keywords.take("w_zero_point"),
               group = keywords.take("group"), type = keywords.take("w_type");
    if (!scale)
        throw py::type_error("w_scale is not given, allowed with quantize: the scales of w");
    v.scales = elements_as(array_of(*scale, "w_scale"), data_type::f32, "w_scale");
    v.scale_mask = mask_of_values(v.scales, column_mask, "w_scale");
    if (zero_point) {
        v.zero_points = elements_as(array_of(*zero_point, "w_zero_point"), data_type::s32, "w_zero_point");
        v.zero_point_mask = mask_of_values(*v.zero_points, column_mask, "w_zero_point");
        if (v.zero_point_mask == 3 && v.scale_mask != 3)
            throw py::value_error("w_zero_point has 2 dimensions, allowed: as many as w_scale");
    }
    if (group.has_value() != (v.scale_mask == 3))
        throw py::type_error(group ? "group is given, allowed with w_scale of 2 dimensions"
                                   : "group is not given, allowed with w_scale of 2 dimensions: how many "
                                     "neighbours along k share a scale");
    if (group) {
        const auto length = py::cast<dim_t>(*group);
        if (length < 1)
            throw py::value_error("group is " + std::to_string(length) + ", allowed: 1 and above");
        v.groups = v.has_columns_first ? memory::dims{1, length} : memory::dims{length, 1};
    }
    if (type) {
        const std::string name = name_of(*type, "w_type");
        if (name != "int4" && name != "uint4")
            throw py::value_error("w_type is '" + name + "', allowed: int4, uint4");
        v.type = name == "int4" ? data_type::s4 : data_type::u4;
    }
    return v;
}

void set_dynamic_source(attributes &result, reader &keywords, int column_mask) {
    const auto span = keywords.take("quantize");
    if (!span)
        return;
    const auto by = keywords.take("quantizer"), symmetric = keywords.take("symmetric"),
               codes = keywords.take("codes"), order = keywords.take("combination");
    result.attr.set_source_quantization(
        quantization_of(by ? name_of(*by, "quantizer") : "dynamic", name_of(*span, "quantize"),
                        symmetric ? std::optional<bool>(py::cast<bool>(*symmetric)) : std::nullopt,
                        codes ? std::optional<data_type>(type_of(*codes, "codes")) : std::nullopt));
    if (order)
        result.attr.set_combination(combination_of(name_of(*order, "combination")));
    result.of_weights = values_of_weights(keywords, column_mask);
    result.of_weights->add_to(result.attr, OCTET_ARG_WEIGHTS);
}

void set_sides(primitive_attr &attr, reader &keywords, const channel_masks &masks) {
    for (const side &s : {side{"x_scale", "x_zero_point", OCTET_ARG_SRC, masks.src},
                          side{"x1_scale", "x1_zero_point", OCTET_ARG_SRC_1, masks.src},
                          side{"w_scale", "w_zero_point", OCTET_ARG_WEIGHTS, masks.weights},
                          side{"y_scale", "y_zero_point", OCTET_ARG_DST, masks.dst}}) {
        if (s.arg == OCTET_ARG_WEIGHTS && attr.get_source_quantization())
            continue;
        if (const auto scale = keywords.take(s.scale)) {
            const auto values = numbers<float>(*scale, s.scale);
            try {
                attr.set_scales(s.arg, mask_of(values.size(), s.mask), values);
            } catch (const error &e) {
                throw error(e.status, std::string(s.scale) + ": " + e.what());
            }
        }
        if (const auto zero_point = keywords.take(s.zero_point)) {
            const auto values = numbers<std::int32_t>(*zero_point, s.zero_point);
            attr.set_zero_points(s.arg, mask_of(values.size(), s.mask), values);
        }
    }
    for (const auto &[prefix, arg] : {std::pair("x_", OCTET_ARG_SRC), std::pair("x1_", OCTET_ARG_SRC_1),
                                      std::pair("w_", OCTET_ARG_WEIGHTS)})
        if (const auto factor = input_multiplier(keywords, prefix))
            attr.set_input_multiplier(arg, *factor);
}

/// One value for each tensor of a list.
template <typename T> std::vector<T> per_source(const py::object &value, std::size_t count, const char *who) {
    const auto values = numbers<T>(value, who);
    if (values.size() != count)
        throw py::value_error(std::string(who) + " has " + std::to_string(values.size()) +
                              " values, allowed: one for each of the " + std::to_string(count) + " tensors");
    return values;
}

void set_sources(primitive_attr &attr, reader &keywords, std::size_t count) {
    const auto scales = keywords.take("scales"), zero_points = keywords.take("zero_points");
    if (scales) {
        const auto values = per_source<float>(*scales, count, "scales");
        for (std::size_t i = 0; i < count; i++)
            attr.set_scales(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i), 0, {values[i]});
    }
    if (zero_points) {
        const auto values = per_source<std::int32_t>(*zero_points, count, "zero_points");
        for (std::size_t i = 0; i < count; i++)
            attr.set_zero_points(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i), 0, {values[i]});
    }
}

/// Of recurrent networks: the factor and the shift of codes, and the factors of weights, one or one each.
void set_recurrent(primitive_attr &attr, reader &keywords) {
    if (const auto data = keywords.take("data_qparams")) {
        const auto [scale, shift] = py::cast<std::pair<float, float>>(*data);
        attr.set_rnn_data_qparams(scale, shift);
    }
    if (const auto scale = keywords.take("weights_scale")) {
        const auto values = numbers<float>(*scale, "weights_scale");
        attr.set_rnn_weights_qparams(mask_of(values.size(), 0b11000), values);
    }
    if (const auto scale = keywords.take("projection_scale")) {
        const auto values = numbers<float>(*scale, "projection_scale");
        attr.set_rnn_weights_projection_qparams(mask_of(values.size(), 0b1000), values);
    }
}

/// A post-op as a tuple: its name, then its numbers.
class chain {
public:
    explicit chain(attributes &result) : result_(result) {}

    void append(const py::handle &stage) {
        py::tuple parts;
        if (py::isinstance<py::str>(stage))
            parts = py::make_tuple(stage);
        else if (py::isinstance<py::tuple>(stage) || py::isinstance<py::list>(stage))
            parts = py::cast<py::tuple>(stage);
        if (parts.empty() || !py::isinstance<py::str>(parts[0]))
            throw py::type_error("post_ops: " + py::cast<std::string>(py::repr(stage)) +
                                 " does not begin with a name");
        const auto name = py::cast<std::string>(parts[0]);
        if (name == "sum")
            append_sum(parts);
        else if (name == "leaky_relu")
            append_leaky_relu(parts);
        else if (name == "clip")
            ops_.append_clip(integer(parts, 1), integer(parts, 2));
        else if ((name == "table" || name == "prelu" || name == "add") && parts.size() != 2)
            throw py::value_error("post_ops: '" + name + "' has " + std::to_string(parts.size() - 1) +
                                  " values, allowed: 1");
        else if (name == "add" && !py::isinstance<py::array>(parts[1]))
            ops_.append_add(integer(parts, 1));
        else if (name == "table")
            append_table(py::cast<py::array>(parts[1]));
        else if (name == "prelu")
            append_prelu(parts[1]);
        else if (parts.size() > 1 && py::hasattr(parts[1], "shape") &&
                 !py::cast<py::tuple>(parts[1].attr("shape")).empty())
            append_binary(name, parts[1]);
        else if (parts.size() > 4)
            throw py::value_error("post_ops: '" + name + "' has " + std::to_string(parts.size() - 1) +
                                  " values, allowed: up to 3");
        else
            ops_.append_eltwise(number(parts, 3, 1.), algorithm_of("eltwise_", name, "post_ops: function"),
                                number(parts, 1, 0.), number(parts, 2, 0.));
    }
    void finish() { result_.attr.set_post_ops(ops_); }

private:
    static float number(const py::tuple &parts, std::size_t i, double fallback) {
        return i < parts.size() ? as<float>(parts[i], "number") : static_cast<float>(fallback);
    }
    static std::int32_t integer(const py::tuple &parts, std::size_t i) {
        if (i >= parts.size())
            throw py::value_error("post_ops: '" + py::cast<std::string>(parts[0]) + "' lacks a number");
        return as<std::int32_t>(parts[i], "integer");
    }
    template <typename T> static T as(const py::handle &value, const char *what) {
        try {
            return py::cast<T>(value);
        } catch (const py::cast_error &) {
            throw py::type_error("post_ops: " + py::cast<std::string>(py::repr(value)) + " is no " + what);
        }
    }
    int arg(int kind) const { return OCTET_ARG_ATTR_MULTIPLE_POST_OP(ops_.len()) | kind; }

    void keep(const py::array &a, const memory::desc &d, int argument) {
        result_.args[argument] = memory_of(a, d);
        result_.kept.push_back(a);
    }
    void append_binary(const std::string &name, const py::handle &operand) {
        py::array a = array_of(operand, "post_ops: " + name);
        a = elements_as(a, a.dtype().kind() == 'f' ? data_type::f32 : type_of(a.dtype(), name),
                        "post_ops: " + name);
        const memory::desc d = desc_of(a, name);
        keep(a, d, arg(OCTET_ARG_SRC_1));
        ops_.append_binary(algorithm_of("binary_", name, "post_ops: function"), d);
    }
    /// The result begins as the array.
    void append_sum(const py::tuple &parts) {
        if (parts.size() < 2)
            throw py::value_error("post_ops: 'sum' lacks the array that is added to");
        if (result_.begins_as)
            throw py::value_error("post_ops: there are two sums, allowed: 1");
        result_.begins_as = array_of(parts[1], "post_ops: sum");
        ops_.append_sum(number(parts, 2, 1.), parts.size() > 3 ? integer(parts, 3) : 0);
    }
    void append_leaky_relu(const py::tuple &parts) {
        if (parts.size() != 5)
            throw py::value_error("post_ops: 'leaky_relu' has " + std::to_string(parts.size() - 1) +
                                  " numbers, allowed: multiplier, shift, multiplier, shift");
        ops_.append_leaky_relu({one_multiplier(parts[1], parts[2], "post_ops: leaky_relu "),
                                one_multiplier(parts[3], parts[4], "post_ops: leaky_relu "),
                                result_.attr.rule()});
    }
    void append_prelu(const py::handle &weights) {
        const py::array a =
            elements_as(array_of(weights, "post_ops: prelu"), data_type::f32, "post_ops: prelu");
        keep(a, desc_of(a, "prelu"), arg(OCTET_ARG_WEIGHTS));
        ops_.append_prelu(a.size() == 1 ? 0 : 1 << 1);
    }
    void append_table(const py::array &entries) {
        const data_type type = type_of(entries.dtype(), "post_ops: table");
        if (entries.size() != 256 || memory::data_type_size(type) != 1)
            throw py::value_error("post_ops: table has " + std::to_string(entries.size()) +
                                  " entries, allowed: 256 of int8 or uint8");
        const py::array dense = elements_as(entries, type, "table");
        std::array<std::uint8_t, 256> codes;
        std::memcpy(codes.data(), dense.data(), codes.size());
        ops_.append_table({type, codes});
    }

    attributes &result_;
    post_ops ops_;
};

} // namespace

attributes attributes_of(const py::dict &given, const channel_masks &masks, std::size_t sources) {
    attributes result;
    reader keywords(given);
    set_rule(result.attr, keywords, masks.dst);
    set_dynamic_source(result, keywords, masks.weights);
    set_sides(result.attr, keywords, masks);
    if (sources > 0)
        set_sources(result.attr, keywords, sources);
    set_recurrent(result.attr, keywords);
    if (const auto stages = keywords.take("post_ops")) {
        chain c(result);
        if (py::isinstance<py::str>(*stages))
            c.append(*stages);
        else if (!py::isinstance<py::iterable>(*stages))
            throw py::type_error("post_ops is " + py::cast<std::string>(py::repr(*stages)) +
                                 ", allowed: a name, or a list of names and tuples");
        else
            for (const py::handle stage : *stages)
                c.append(stage);
        c.finish();
    }
    keywords.finish();
    return result;
}

algorithm algorithm_of(const std::string &family, const std::string &name, const std::string &who) {
    static const std::unordered_map<std::string, algorithm> all = [] {
        std::unordered_map<std::string, algorithm> found;
        for (int i = 1; std::string("unknown") != to_string(static_cast<algorithm>(i)); i++)
            found.emplace(to_string(static_cast<algorithm>(i)), static_cast<algorithm>(i));
        return found;
    }();
    if (const auto found = all.find(family + name); found != all.end())
        return found->second;
    std::string known;
    for (int i = 1; i <= static_cast<int>(all.size()); i++)
        if (const std::string candidate = to_string(static_cast<algorithm>(i));
            candidate.rfind(family, 0) == 0)
            known += (known.empty() ? "" : ", ") + candidate.substr(family.size());
    throw py::value_error(who + " '" + name + "' is unknown, allowed: " + known);
}

} // namespace octet::python
