// The reader of descriptions: each key with what it allows, named in every refusal.
// SPDX-License-Identifier: Apache-2.0
#include "match/description.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include <nlohmann/json.hpp>

#include "common/element.hpp"
#include "common/text.hpp"

namespace octet::match {
namespace {

using json = nlohmann::json;
using impl::throw_invalid;
using form = enum kind_facts::form;

constexpr kind_facts kinds[] = {
    {"requantize", nullptr, nullptr, 2, form::accumulators},
    {"product", nullptr, nullptr, 2, form::product},
    {"add", "ADD", "QLinearAdd", 2, form::elements},
    {"sub", "SUB", nullptr, 2, form::elements},
    {"mul", "MUL", "QLinearMul", 2, form::elements},
    {"quantize", "QUANTIZE", "QuantizeLinear", 1, form::elements},
    {"leaky_relu", "LEAKY_RELU", "QLinearLeakyRelu", 1, form::elements},
    {"relu", "RELU", nullptr, 1, form::elements},
    {"relu6", "RELU6", nullptr, 1, form::elements},
    {"hard_swish", "HARD_SWISH", nullptr, 1, form::elements},
    {"logistic", "LOGISTIC", "QLinearSigmoid", 1, form::elements},
    {"tanh", "TANH", nullptr, 1, form::elements},
    {"elu", "ELU", nullptr, 1, form::elements},
    {"mean", "MEAN", nullptr, 1, form::row},
    {"sum", "SUM", nullptr, 1, form::row},
    {"softmax", "SOFTMAX", nullptr, 1, form::codes},
    {"average_pool", "AVERAGE_POOL_2D", nullptr, 1, form::row},
    {"max_pool", "MAX_POOL_2D", nullptr, 1, form::row},
    {"resize_bilinear", "RESIZE_BILINEAR", nullptr, 1, form::image},
    {"dynamic_quantize", nullptr, nullptr, 1, form::quantizer},
    {"dynamic_product", nullptr, nullptr, 2, form::own_codes},
};

constexpr std::size_t most_channels = 64;

/// An object of the description, with the place of its values for messages.
class object_reader {
public:
    object_reader(const json &object, std::string place, std::initializer_list<const char *> keys)
        : object_(object), place_(std::move(place)) {
        if (!object.is_object())
            throw_invalid(place_, ": ", object.type_name(), " given, allowed: an object");
        std::string allowed;
        for (const char *key : keys)
            allowed += (allowed.empty() ? "" : ", ") + std::string(key);
        for (const auto &[key, value] : object.items())
            if (std::find(keys.begin(), keys.end(), key) == keys.end())
                throw_invalid(place_, ": key '", key, "', allowed: ", allowed);
    }
    bool has(const char *key) const { return object_.contains(key); }
    const json &at(const char *key) const {
        if (!has(key))
            throw_invalid(place_, ": key '", key, "' is missing");
        return object_[key];
    }
    std::string word(const char *key) const {
        const json &value = at(key);
        if (!value.is_string())
            refuse(key, "a word");
        return value.get<std::string>();
    }
    std::int64_t integer(const char *key, std::int64_t low, std::int64_t high) const {
        return integer_of(key, at(key), low, high);
    }
    float real(const char *key, bool is_positive) const { return real_of(key, at(key), is_positive); }
    /// One number, or a list with one per output channel.
    std::vector<float> positive_reals(const char *key) const {
        return of_channels<float>(key, [&](const json &one) { return real_of(key, one, true); });
    }
    std::vector<std::int32_t> integers(const char *key) const {
        return of_channels<std::int32_t>(key, [&](const json &one) {
            return static_cast<std::int32_t>(integer_of(key, one, impl::int32_min, impl::int32_max));
        });
    }
    bool flag(const char *key) const {
        if (!at(key).is_boolean())
            refuse(key, "true or false");
        return at(key).get<bool>();
    }
    memory::dims sides(const char *key) const {
        const json &value = at(key);
        memory::dims sides;
        if (value.is_array() && value.size() == 2)
            for (const json &side : value)
                if (side.is_number_integer() && side.get<std::int64_t>() >= 1 &&
                    side.get<std::int64_t>() <= 32)
                    sides.push_back(side.get<dim_t>());
        if (sides.size() != 2)
            refuse(key, "[height, width], each 1 to 32");
        return sides;
    }
    [[noreturn]] void refuse(const char *key, const std::string &allowed) const {
        throw_invalid(place_, ": ", key, " is ",
                      object_[key].dump(-1, ' ', false, json::error_handler_t::replace),
                      ", allowed: ", allowed);
    }

private:
    std::int64_t integer_of(const char *key, const json &value, std::int64_t low, std::int64_t high) const {
        if (!value.is_number_integer() || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
            refuse(key, impl::text(low, " to ", high));
        return value.get<std::int64_t>();
    }
    float real_of(const char *key, const json &value, bool is_positive) const {
        const float x = value.is_number() ? value.get<float>() : NAN;
        if (!std::isfinite(x) || (is_positive && !(x > 0)))
            refuse(key, is_positive ? "a positive finite number" : "a finite number");
        return x;
    }
    template <typename T, typename Read> std::vector<T> of_channels(const char *key, const Read &read) const {
        const json &value = at(key);
        if (!value.is_array())
            return {read(value)};
        if (value.empty() || value.size() > most_channels)
            throw_invalid(place_, ": ", key, " has ", value.size(), " entries, allowed: 1 to ", most_channels,
                          ", one per output channel");
        std::vector<T> all;
        for (const json &one : value)
            all.push_back(read(one));
        return all;
    }

    const json &object_;
    std::string place_;
};

/// `scales` is null where the operand has one.
operand read_operand(const json &object, const std::string &place, bool allows_f32,
                     std::vector<float> *scales = nullptr) {
    const object_reader r(object, place, {"type", "scale", "zero_point"});
    const std::string type = r.word("type");
    operand o;
    o.type = type == "s8" || type == "int8"       ? data_type::s8
             : type == "u8" || type == "uint8"    ? data_type::u8
             : type == "f32" || type == "float32" ? data_type::f32
                                                  : data_type::undef;
    if (o.type == data_type::undef || (o.type == data_type::f32 && !allows_f32))
        r.refuse("type", allows_f32 ? "s8, u8, f32" : "s8, u8");
    if (o.type == data_type::f32)
        return o;
    if (scales)
        *scales = r.positive_reals("scale");
    o.scale = scales ? (*scales)[0] : r.real("scale", true);
    const impl::type_range range = impl::range_of(o.type);
    if (r.has("zero_point"))
        o.zero_point = static_cast<std::int32_t>(r.integer("zero_point", range.low, range.high));
    return o;
}

/// An operand that is a type alone: the device chooses its parameters, or the finder.
operand read_type(const json &object, const std::string &place,
                  std::initializer_list<data_type> allowed_types) {
    const object_reader r(object, place, {"type"});
    const std::string type = r.word("type");
    std::string allowed;
    for (const data_type t : allowed_types) {
        if (type == to_string(t))
            return {t, 0, 0};
        allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(t));
    }
    r.refuse("type", allowed);
}

void read_dynamic(const object_reader &r, const std::string &name, description &d) {
    constexpr data_type s8 = data_type::s8, u8 = data_type::u8, f32 = data_type::f32;
    const bool is_product = d.kind->form == form::own_codes;
    d.inputs = {read_type(r.at("inputs")[0], name + ": inputs[0]", {f32})};
    if (is_product)
        d.inputs.push_back(read_type(r.at("inputs")[1], name + ": inputs[1]", {s8, data_type::s4}));
    const json &output = r.at("output");
    d.output = is_product ? read_type(output, name + ": output", {f32})
                          : read_type(output, name + ": output", {s8, u8});
    d.count = r.integer("count", 1, 1024);
    if (r.has("group")) {
        d.group = r.integer("group", 1, d.count);
        if (d.count % d.group != 0)
            r.refuse("group", impl::text("a divisor of count, which is ", d.count));
    }
    if (r.has("channels"))
        d.channels = r.integer("channels", 1, static_cast<std::int64_t>(most_channels));
    d.has_bias = !r.has("has_bias") || r.flag("has_bias");
}

/// TFLite's: the code of a real number of the activation.
std::int32_t code_of(const operand &o, double real) {
    const impl::type_range range = impl::range_of(o.type);
    const double code = o.zero_point + std::round(real / static_cast<double>(o.scale));
    return static_cast<std::int32_t>(impl::clamp<double>(code, range.low, range.high));
}

} // namespace

const kind_facts &facts_of_kind(const std::string &name) {
    std::string names;
    for (const kind_facts &row : kinds) {
        if (name == row.name)
            return row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw_invalid("kind '", name, "', allowed: ", names);
}

std::int32_t description::low() const {
    if (activation == "NONE")
        return impl::range_of(output.type).low;
    return code_of(output, activation == "RELU_N1_TO_1" ? -1 : 0);
}

std::int32_t description::high() const {
    if (activation == "NONE" || activation == "RELU")
        return impl::range_of(output.type).high;
    return code_of(output, activation == "RELU6" ? 6 : 1);
}

description parse_description(const std::string &text, const std::string &name) {
    const json root = json::parse(text, nullptr, false);
    if (root.is_discarded())
        throw_invalid(name, ": is no JSON");
    const object_reader r(root, name,
                          {"kind", "inputs", "output", "activation", "count", "limit", "bias", "alpha",
                           "beta", "size", "to", "align_corners", "half_pixel_centers", "group", "channels",
                           "has_bias"});
    description d;
    const std::string kind = r.word("kind");
    try {
        d.kind = &facts_of_kind(kind);
    } catch (const error &e) {
        throw_invalid(name, ": ", e.what());
    }
    const json &given = r.at("inputs");
    if (!given.is_array() || static_cast<int>(given.size()) != d.kind->operands)
        throw_invalid(name, ": inputs has ",
                      given.is_array() ? impl::text(given.size(), " entries") : "no list",
                      ", allowed for kind ", d.kind->name, ": ", d.kind->operands);
    if (d.kind->quantizes_source()) {
        read_dynamic(r, name, d);
        return d;
    }
    const bool may_be_f32 = std::string(d.kind->name) == "quantize";
    const bool is_product = d.kind->form == form::product,
               has_channels = is_product || d.kind->form == form::accumulators;
    for (std::size_t i = 0; i < given.size(); i++)
        d.inputs.push_back(read_operand(given[i], impl::text(name, ": inputs[", i, "]"), may_be_f32,
                                        has_channels && i == 1 ? &d.channel_scales : nullptr));
    d.output = read_operand(r.at("output"), name + ": output", false);
    if (r.has("activation")) {
        d.activation = r.word("activation");
        const auto names = {"NONE", "RELU", "RELU6", "RELU_N1_TO_1"};
        if (std::find(names.begin(), names.end(), d.activation) == names.end())
            r.refuse("activation", "NONE, RELU, RELU6, RELU_N1_TO_1");
    }
    if (r.has("count"))
        d.count = r.integer("count", 1, is_product ? 4096 : 1024);
    else if (d.kind->form == form::row || d.kind->form == form::codes)
        throw_invalid(name, ": key 'count' is missing: how many codes a row of kind ", d.kind->name, " has");
    if (r.has("limit"))
        d.limit = r.integer("limit", 1, 2147483647);
    if (r.has("bias")) {
        if (!has_channels)
            r.refuse("bias", impl::text("none for kind ", d.kind->name));
        d.biases = r.integers("bias");
    }
    if (d.biases.size() > 1 && d.channel_scales.size() > 1 && d.biases.size() != d.channel_scales.size())
        r.refuse("bias",
                 impl::text("one, or ", d.channel_scales.size(), ", as many as the weights have scales"));
    if (has_channels) {
        const std::size_t channels = std::max(d.channel_scales.size(), d.biases.size());
        d.channel_scales.resize(channels, d.channel_scales[0]);
        d.biases.resize(channels, d.biases.empty() ? 0 : d.biases[0]);
    }
    if (r.has("alpha") || std::string(d.kind->name) == "leaky_relu")
        d.alpha = r.real("alpha", false);
    if (r.has("beta"))
        d.beta = r.real("beta", true);
    if (r.has("size"))
        d.size = r.sides("size");
    if (r.has("to"))
        d.to = r.sides("to");
    d.align_corners = r.has("align_corners") && r.flag("align_corners");
    d.half_pixel_centers = r.has("half_pixel_centers") && r.flag("half_pixel_centers");
    return d;
}

} // namespace octet::match
