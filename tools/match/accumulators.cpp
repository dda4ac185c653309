// Rules with their parameters as functions of the accumulator, and rows of codes whose sums are given accumulators.
// Start reading at scalings.
// SPDX-License-Identifier: Apache-2.0
#include "match/accumulators.hpp"

#include <algorithm>
#include <cmath>

#include "common/element.hpp"
#include "common/lane.hpp"
#include "common/requantize.hpp"
#include "common/rules.hpp"
#include "octet/contract.hpp"
#include "octet/error.hpp"

namespace octet::match {
namespace {

using impl::rule_facts;
using how = scale_derivation;

double by(how derivation, const accumulator_scales &s) {
    return real_multiplier(derivation, s.src, s.weights, s.dst);
}

/// A way from scales to the factor: those of Octet's derivations, and those of engines that call Octet's
/// rules with factors of their own.
struct named_derivation {
    const char *name;
    double (*factor)(const accumulator_scales &);
};
constexpr named_derivation derivations[] = {
    {"tflite_f64", [](const accumulator_scales &s) { return by(how::tflite_f64, s); }},
    {"tflite_f32prod", [](const accumulator_scales &s) { return by(how::tflite_f32prod, s); }},
    {"caffe2_f32", [](const accumulator_scales &s) { return by(how::caffe2_f32, s); }},
    {"ort_f32", [](const accumulator_scales &s) { return by(how::ort_f32, s); }},
    {"snps_onnx_per_channel", [](const accumulator_scales &s) { return by(how::snps_onnx_per_channel, s); }},
    {"pytorch_qnnpack",
     [](const accumulator_scales &s) { return double{s.src * s.weights * (1.f / s.dst)}; }},
    {"pytorch_onednn",
     [](const accumulator_scales &s) { return double{1.f / s.dst / (1.f / s.src * (1.f / s.weights))}; }},
};

std::int32_t store(std::int64_t value, const accumulator_scales &s) {
    return static_cast<std::int32_t>(impl::clamp<std::int64_t>(value + s.zero_point, s.low, s.high));
}

/// Converts a scaled accumulator into a code as an f32 rule does (bound_epilogue::store, for one tensor's
/// scales).
std::int32_t store(float x, const rule_facts &facts, const accumulator_scales &s) {
    if (!facts.f32.rounds_before_zero_point)
        return impl::clamp(impl::down_convert(x + static_cast<float>(s.zero_point), s.type), s.low, s.high);
    const float low = static_cast<float>(s.low - s.zero_point),
                high = static_cast<float>(s.high - s.zero_point);
    return static_cast<std::int32_t>(impl::round_to_even(impl::lane::min(impl::lane::max(x, low), high))) +
           s.zero_point;
}

/// Adds a scaling unless one with equal parameters is there, which gets the derivation's name.
template <typename Parameters> class unique_parameters {
public:
    template <typename Make> void add(const Parameters &p, const std::string &derivation, const Make &make) {
        for (std::size_t i = 0; i < known_.size(); i++)
            if (known_[i] == p) {
                if (scalings[i].derivations.find(derivation) == std::string::npos)
                    scalings[i].derivations += ", " + derivation;
                return;
            }
        known_.push_back(p);
        scalings.push_back(make(p, derivation));
    }
    std::vector<scaling> scalings;

private:
    std::vector<Parameters> known_;
};

std::vector<scaling> f32_scalings(const rule_facts &facts, const accumulator_scales &s) {
    if (facts.f32.divides_after_post_ops) { // argument scales, in both orders in which oneDNN multiplies
        const auto ordered = [&facts, s](bool src_first) {
            return [&facts, s, src_first](std::int32_t acc) {
                const float x = static_cast<float>(acc);
                const float real = src_first ? x * s.src * s.weights : x * (s.src * s.weights);
                const float bias = static_cast<float>(s.bias) * (s.src * s.weights);
                return store((real + bias) * (1.f / s.dst), facts, s);
            };
        };
        return {{facts.rule, "acc * (s_src * s_weights)", ordered(false)},
                {facts.rule, "(acc * s_src) * s_weights", ordered(true)}};
    }
    unique_parameters<float> unique;
    for (const named_derivation &derivation : derivations)
        unique.add(static_cast<float>(derivation.factor(s)), derivation.name,
                   [&](float factor, const std::string &name) {
                       return scaling{facts.rule, name, [&facts, s, factor](std::int32_t acc) {
                                          const float sum =
                                              facts.f32.adds_bias_in_f32
                                                  ? static_cast<float>(acc) + static_cast<float>(s.bias)
                                                  : static_cast<float>(impl::wrapping_add(acc, s.bias));
                                          return store(sum * factor, facts, s);
                                      }};
                   });
    return unique.scalings;
}

std::vector<scaling> fixed_point_scalings(const rule_facts &facts, const accumulator_scales &s) {
    unique_parameters<fixed_point_multiplier> unique;
    for (const named_derivation &derivation : derivations) {
        const double factor = derivation.factor(s);
        const fixed_point_multiplier m = facts.fixed_point.has_offset
                                             ? model::legacy_scale_multiplier(factor, s.magnitude)
                                             : from_double(facts.rule, factor);
        unique.add(m, derivation.name,
                   [&](const fixed_point_multiplier &parameters, const std::string &name) {
                       return scaling{facts.rule, name, [rule = facts.rule, s, parameters](std::int32_t acc) {
                                          return store(impl::requantize(rule, acc, parameters), s);
                                      }};
                   });
    }
    return unique.scalings;
}

std::vector<scaling> real_scalings(const rule_facts &facts, const accumulator_scales &s) {
    unique_parameters<std::pair<double, bool>> unique;
    for (const named_derivation &derivation : derivations)
        for (const bool is_f32 : {false, true}) {
            if (is_f32 && facts.real.steps != impl::real_steps::double_round)
                continue;
            const double exact = derivation.factor(s);
            const double factor = is_f32 ? static_cast<double>(static_cast<float>(exact)) : exact;
            if (!(factor >= facts.real.lowest && factor < facts.real.end))
                throw error(status::invalid_arguments,
                            "its factor is " + std::to_string(factor) + ", allowed: " + facts.real.allowed);
            unique.add({factor, is_f32}, std::string(derivation.name) + (is_f32 ? " in f32" : ""),
                       [&](const std::pair<double, bool> &p, const std::string &name) {
                           return scaling{
                               facts.rule, name, [rule = facts.rule, s, p](std::int32_t acc) {
                                   return store(impl::requantize(rule, acc, p.first, p.second, s.zero_point),
                                                s);
                               }};
                       });
        }
    return unique.scalings;
}

accumulator_scales scales_of(const description &d, std::size_t channel, std::int64_t magnitude) {
    return {d.inputs[0].scale, d.channel_scales[channel],
            d.output.scale,    d.output.zero_point,
            d.low(),           d.high(),
            magnitude,         d.output.type,
            d.biases[channel]};
}

/// The largest accumulator that matters: beyond, codes are at the ends of their range.
std::int64_t useful_magnitude(const accumulator_scales &s, std::int64_t limit) {
    return static_cast<std::int64_t>(
        std::min<double>(std::ceil(300. / s.factor()) + 8, static_cast<double>(limit)));
}

std::vector<std::string> names_in(const std::string &derivations) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= derivations.size();) {
        const std::size_t end = std::min(derivations.find(", ", at), derivations.size());
        names.push_back(derivations.substr(at, end - at));
        at = end + 2;
    }
    return names;
}

/// The codes that a rule computes of several channels if parameters are derived in one way, and that way's
/// names.
struct channel_scalings {
    std::string derivations;
    std::vector<std::size_t> chosen; ///< index of the chosen scaling of each channel
};
/// A way is one for all channels: two ways are told apart where some channel has other parameters.
std::vector<channel_scalings> same_way_everywhere(const std::vector<std::vector<scaling>> &channels) {
    std::vector<channel_scalings> ways;
    for (const scaling &first : channels[0])
        for (const std::string &name : names_in(first.derivations)) {
            std::vector<std::size_t> chosen;
            for (const std::vector<scaling> &channel : channels)
                for (std::size_t i = 0; i < channel.size(); i++)
                    if (const auto names = names_in(channel[i].derivations);
                        std::find(names.begin(), names.end(), name) != names.end())
                        chosen.push_back(i);
            const auto same = std::find_if(ways.begin(), ways.end(),
                                           [&](const channel_scalings &way) { return way.chosen == chosen; });
            if (same == ways.end())
                ways.push_back({name, chosen});
            else
                same->derivations += ", " + name;
        }
    return ways;
}

/// The contracts of one rule on accumulators {rows, channels}, the first input.
void add_rule(subject &to, requantization_rule rule, const std::vector<accumulator_scales> &channels) {
    std::vector<std::vector<scaling>> all;
    all.reserve(channels.size());
    for (const accumulator_scales &s : channels)
        all.push_back(scalings_of(rule, s));
    for (const channel_scalings &way : same_way_everywhere(all)) {
        std::vector<std::function<std::int32_t(std::int32_t)>> code;
        for (std::size_t c = 0; c < all.size(); c++)
            code.push_back(all[c][way.chosen[c]].code);
        to.contracts.push_back(
            {to_string(rule), way.derivations, [code = std::move(code)](const inputs &given) {
                 codes results(given.at(0).count());
                 for (std::size_t i = 0; i < results.size(); i++)
                     results[i] = code[i % code.size()](given[0].integer(i));
                 return results;
             }});
    }
}

subject subject_of(const description &d, const std::vector<accumulator_scales> &channels) {
    subject result;
    result.dst = d.output.type;
    for (const requantization_rule rule : all_requantization_rules())
        try {
            add_rule(result, rule, channels);
        } catch (const error &e) {
            result.refused.push_back({to_string(rule), e.what()});
        }
    return result;
}

/// The scalings of accumulators to which the bias is added first.
std::vector<scaling> after_the_bias(std::vector<scaling> all, std::int32_t bias) {
    if (bias != 0)
        for (scaling &one : all)
            one.code = [code = std::move(one.code), bias](std::int32_t acc) {
                return code(impl::wrapping_add(acc, bias));
            };
    return all;
}

} // namespace

std::vector<scaling> scalings_of(requantization_rule rule, const accumulator_scales &s) {
    const rule_facts &facts = impl::facts_of(rule);
    switch (facts.parameters) {
    case rule_parameters::scales:
        return f32_scalings(facts, s);
    case rule_parameters::multipliers:
        return after_the_bias(fixed_point_scalings(facts, s), s.bias);
    case rule_parameters::real_scales:
        return after_the_bias(real_scalings(facts, s), s.bias);
    default:
        return {};
    }
}

std::vector<std::int32_t> interesting_accumulators(const accumulator_scales &s, std::int64_t limit) {
    std::vector<std::int64_t> found;
    const double factor = s.factor();
    generator random(1);
    for (std::int32_t code = s.low - s.zero_point - 2; code <= s.high - s.zero_point + 2; code++) {
        const double boundary = (code + 0.5) / factor;
        if (std::abs(boundary) > static_cast<double>(limit))
            continue;
        const auto centre = static_cast<std::int64_t>(std::llround(boundary));
        for (std::int64_t d = -6; d <= 6; d++) // rules that round exactly differ here
            found.push_back(centre + d);
        // Rules whose multipliers have few bits, or that round twice, differ farther away.
        for (const double width : {0.004, 0.05, 0.5}) {
            const auto w = static_cast<std::int64_t>(width / factor);
            found.push_back(centre + random.between(-w, w));
        }
    }
    for (int bit = 0; bit < 32; bit++)
        for (const int d : {-1, 0, 1})
            for (const int sign : {-1, 1})
                found.push_back(sign * ((std::int64_t{1} << bit) + d));
    const std::int64_t reach = useful_magnitude(s, limit);
    for (int i = 0; i < 2048; i++)
        found.push_back(random.between(-reach, reach));
    for (int i = 0; i < 256; i++)
        found.push_back(random.between(-limit, limit));
    found.push_back(-limit - 1);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<std::int32_t> result;
    for (const std::int64_t sum : found)
        if (const std::int64_t acc = sum - s.bias; acc >= -limit - (limit == impl::int32_max) && acc <= limit)
            result.push_back(static_cast<std::int32_t>(acc));
    return result;
}

namespace {

/// Accumulators of each channel, in rows; a channel with fewer begins anew.
std::vector<std::int32_t> rows_of_accumulators(const std::vector<accumulator_scales> &channels,
                                               std::int64_t limit) {
    std::vector<std::vector<std::int32_t>> columns;
    std::size_t rows = 0;
    for (const accumulator_scales &s : channels) {
        columns.push_back(interesting_accumulators(s, limit));
        rows = std::max(rows, columns.back().size());
    }
    std::vector<std::int32_t> all;
    for (std::size_t row = 0; row < rows; row++)
        for (const std::vector<std::int32_t> &column : columns)
            all.push_back(column[row % column.size()]);
    return all;
}

/// Dimensions of what a row has one of per channel; a row of one is a number.
memory::dims row_of_channels(const description &d) {
    return d.channel_scales.size() == 1 ? memory::dims{}
                                        : memory::dims{static_cast<dim_t>(d.channel_scales.size())};
}

} // namespace

subject accumulator_subject(const description &d) {
    std::vector<accumulator_scales> channels;
    for (std::size_t c = 0; c < d.channel_scales.size(); c++) {
        channels.push_back(scales_of(d, c, 0));
        channels[c].magnitude = useful_magnitude(channels[c], d.limit);
    }
    subject result = subject_of(d, channels);
    result.dst_row = row_of_channels(d);
    const std::vector<std::int32_t> sums = rows_of_accumulators(channels, d.limit);
    memory::dims dims = result.dst_row;
    dims.insert(dims.begin(), static_cast<dim_t>(sums.size() / channels.size()));
    result.pool = {values_of("acc", data_type::s32, dims, sums)};
    return result;
}

// ---- Products: rows of codes whose sums are the wanted accumulators.

namespace {

/// Weights less their zero point: 1, then the largest of both signs in turn.
std::vector<std::int32_t> weights_for(const operand &w, dim_t count) {
    const impl::type_range range = impl::range_of(w.type);
    const std::int32_t most = range.high - w.zero_point;
    // -128 has no negative, and kernels that add pairs in 16 bits exclude it.
    const std::int32_t least = std::max(range.low + (w.type == data_type::s8 ? 1 : 0) - w.zero_point, -most);
    std::vector<std::int32_t> weights = {most >= 1 ? 1 : -1};
    while (static_cast<dim_t>(weights.size()) < count) {
        const bool is_odd = weights.size() % 2 != 0;
        weights.push_back((is_odd && most != 0) || least >= 0 ? most : least);
    }
    return weights;
}

/// Codes less their zero point whose products with the weights sum to `target`, as nearly as they can.
std::vector<std::int32_t> codes_for(std::int64_t target, const std::vector<std::int32_t> &weights,
                                    const impl::type_range &centred) {
    std::vector<std::int32_t> codes(weights.size());
    for (std::size_t i = weights.size(); i-- > 0;) {
        if (weights[i] == 0)
            continue;
        const auto wanted = static_cast<std::int64_t>(
            std::llround(static_cast<double>(target) / static_cast<double>(weights[i])));
        codes[i] = static_cast<std::int32_t>(impl::clamp<std::int64_t>(wanted, centred.low, centred.high));
        target -= std::int64_t{codes[i]} * weights[i];
    }
    return codes;
}

dim_t length_for(const description &d, const accumulator_scales &s, const impl::type_range &centred) {
    if (d.count > 0)
        return d.count;
    const std::int32_t widest = std::min(std::abs(centred.low), std::abs(centred.high));
    const std::int64_t per_product = std::int64_t{std::max(widest, 16)} * 100;
    return static_cast<dim_t>(
        std::min<std::int64_t>(4096, 3 + 2 * useful_magnitude(s, d.limit) / per_product));
}

} // namespace

/// Row n of the sources aims at an accumulator of channel n mod channels, which all others get, too: their
/// weights are the same.
subject product_subject(const description &d) {
    const operand &x = d.inputs[0], &w = d.inputs[1];
    const impl::type_range whole = impl::range_of(x.type),
                           centred = {whole.low - x.zero_point, whole.high - x.zero_point};
    std::vector<accumulator_scales> channels;
    dim_t length = 0;
    for (std::size_t c = 0; c < d.channel_scales.size(); c++) {
        channels.push_back(scales_of(d, c, 0));
        length = std::max(length, length_for(d, channels[c], centred));
    }
    const std::vector<std::int32_t> weights = weights_for(w, length);
    std::int64_t magnitude = 0;
    for (const std::int32_t one : weights)
        magnitude += std::int64_t{255} * std::abs(one);
    for (accumulator_scales &s : channels)
        s.magnitude = magnitude;
    subject result = subject_of(d, channels);
    result.reduce = [zero_x = x.zero_point, zero_w = w.zero_point](const inputs &given) {
        const std::size_t count = static_cast<std::size_t>(given.at(1).dims[0]),
                          terms = given[1].count() / count;
        std::vector<std::int32_t> sums(row_count(given) * count);
        for (std::size_t i = 0; i < sums.size(); i++)
            for (std::size_t k = 0; k < terms; k++)
                sums[i] = impl::wrapping_add(sums[i], (given[0].integer(i / count * terms + k) - zero_x) *
                                                          (given[1].integer(i % count * terms + k) - zero_w));
        return inputs{values_of("acc", data_type::s32,
                                {static_cast<dim_t>(sums.size() / count), static_cast<dim_t>(count)}, sums)};
    };
    std::vector<std::int32_t> sources, stored;
    const std::vector<std::int32_t> targets = rows_of_accumulators(channels, std::min(d.limit, magnitude));
    const std::size_t count = channels.size(), rows = targets.size() / count;
    for (std::size_t row = 0; row < rows; row++)
        for (const std::int32_t code : codes_for(targets[row * count + row % count], weights, centred))
            sources.push_back(code + x.zero_point);
    for (std::size_t c = 0; c < count; c++)
        for (const std::int32_t one : weights)
            stored.push_back(one + w.zero_point);
    result.pool = {values_of("x", x.type, {static_cast<dim_t>(rows), length}, sources),
                   values_of("weights", w.type, {static_cast<dim_t>(count), length}, stored)};
    result.pool[1].is_shared = true;
    result.dst_row = {static_cast<dim_t>(count)};
    return result;
}

} // namespace octet::match
