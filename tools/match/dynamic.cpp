// Quantizers and orders as contracts, and rows at which they differ. Start reading at own_codes_subject.
// SPDX-License-Identifier: Apache-2.0
#include "match/dynamic.hpp"

#include <cmath>

#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/text.hpp"
#include "octet/error.hpp"

namespace octet::match {
namespace {

// ---- rows

/// Between 0 and 1.
float share(generator &random) {
    return static_cast<float>(random.between(0, (1 << 24) - 1)) / static_cast<float>(1 << 24);
}
float signed_share(generator &random) { return 2 * share(random) - 1; }

/// Elements halfway between codes: of a scale of `unit`, codes run from `low` to `high`.
void add_ties(std::vector<float> &x, dim_t count, float low, float high, float unit, generator &random) {
    for (dim_t i = 0; i < count; i++) {
        const auto code =
            static_cast<float>(random.between(std::int64_t(std::ceil(low)), std::int64_t(high) - 1));
        x.push_back((i == 0 ? low : i == 1 ? high : code + 0.5f) * unit);
    }
}

/// Elements that share a scale. The largest is below 2^9, for scales in f16, and the range above 2^-24, where all
/// quantizers are defined.
void add_stretch(std::vector<float> &x, dim_t count, std::int64_t sort, generator &random) {
    const float unit = std::ldexp(1.f, static_cast<int>(random.between(-6, 1))),
                rough = unit * (1 + share(random));
    const auto low = static_cast<float>(random.between(0, 255));
    switch (sort) {
    case 0: // symmetric codes have a scale of unit
        return add_ties(x, count, -127, 127, unit, random);
    case 1: // asymmetric ones, with ties of codes
        return add_ties(x, count, -low, 255 - low, unit, random);
    case 2: // with a tie of the zero point
        return add_ties(x, count, -low - 0.5f, 254.5f - low, unit, random);
    case 7: // as near as a scale with all its bits lets elements be
        return add_ties(x, count, -127, 127, rough, random);
    case 8:
        return add_ties(x, count, -low, 255 - low, rough, random);
    default:
        break;
    }
    const float amplitude = std::ldexp(1.f + share(random), sort == 3 ? -16 : 4);
    for (dim_t i = 0; i < count; i++) {
        const float y = signed_share(random);
        x.push_back(amplitude * (sort == 4   ? 1.f + y / 2
                                 : sort == 5 ? y / 2 - 1.f
                                 : sort == 6 ? (i == 0 ? y : y / 1024)
                                             : y));
    }
}

// ---- what a product is given

/// 8 significant bits, so that f16 and bf16 hold them.
std::vector<float> scales_of_weights(dim_t count, bool are_alike, generator &random) {
    std::vector<float> all;
    for (dim_t i = 0; i < count; i++)
        all.push_back(std::ldexp(static_cast<float>(random.between(128, 255)),
                                 static_cast<int>(are_alike ? -16 : random.between(-24, -8))));
    return all;
}

inputs operands_for(const description &d) {
    generator random(8);
    inputs all = rows_to_quantize(512, d.count, d.group);
    const impl::type_range range = impl::range_of(d.inputs[1].type);
    const std::int32_t least = range.low + (range.low == -128); // which vector code of some libraries lacks
    std::vector<std::int32_t> weights;
    for (dim_t i = 0; i < d.channels * d.count; i++) {
        const bool is_of_one_sign = i / 32 % 2 != 0; // large sums, whose products with scales are rounded
        weights.push_back(static_cast<std::int32_t>(random.between(is_of_one_sign ? 0 : least, range.high)));
    }
    all.push_back(values_of("weights", data_type::s8, {d.channels, d.count}, weights));
    const dim_t groups = d.group > 0 ? d.count / d.group : 1;
    all.push_back(values_of("scales",
                            d.group > 0 ? memory::dims{d.channels, groups} : memory::dims{d.channels},
                            scales_of_weights(d.channels * groups, d.group == 0, random)));
    if (d.has_bias) {
        std::vector<float> bias;
        for (dim_t i = 0; i < d.channels; i++)
            bias.push_back(4 * signed_share(random));
        all.push_back(values_of("bias", {d.channels}, bias));
    }
    for (std::size_t i = 1; i < all.size(); i++)
        all[i].is_shared = true;
    return all;
}

// ---- contracts

struct quantized_values {
    codes all;
    std::vector<impl::source_parameters> parameters;
};

quantized_values quantize(const source_quantization &q, const values &x, dim_t group) {
    const dim_t rows = x.dims.at(0), k = x.dims.at(1), stretch = group > 0 ? group : k;
    quantized_values result;
    std::vector<float> elements(x.count());
    for (std::size_t i = 0; i < elements.size(); i++)
        elements[i] = x.real(i);
    std::vector<std::uint8_t> bytes(x.count());
    result.parameters.resize(static_cast<std::size_t>(rows * (k / stretch)));
    impl::quantize_source(q, elements.data(), rows, k, stretch, bytes.data(), result.parameters.data());
    for (std::size_t i = 0; i < elements.size(); i++)
        result.all.push_back(impl::load_s32(bytes.data(), q.code, static_cast<dim_t>(i)));
    if (impl::stores_f16_scales(q.by))
        for (impl::source_parameters &p : result.parameters)
            p.scale = impl::from_f16(impl::to_f16(p.scale));
    return result;
}

/// Why there is no such product; empty: there is.
std::string refusal_of(combination order, dim_t group) {
    const impl::combination_facts &facts = impl::facts_of(order);
    if (group % facts.unit != 0 || (facts.longest > 0 && group > facts.longest))
        return impl::text("groups of ", group, ", allowed: ",
                          facts.longest > 0 ? impl::text(facts.longest)
                                            : impl::text("multiples of ", facts.unit));
    return "";
}

/// Codes of u8 give the same products as those of s8.
bool has_products_of_its_own(const source_quantization &q) {
    return q.by != source_quantizer::dynamic || q.code == data_type::s8;
}

/// The source's scales are for rows, or for the groups of the weights.
void add_products(subject &s, const source_quantization &q, combination order, dim_t group) {
    const impl::combination_facts &facts = impl::facts_of(order);
    for (const source_span span : {source_span::row, source_span::group}) {
        const bool is_of_groups = span == source_span::group;
        if (is_of_groups ? !facts.takes_source_groups || group == 0 : !facts.takes_other_spans)
            continue;
        source_quantization spanned = q;
        spanned.span = span;
        s.contracts.push_back({impl::text(to_string(q.by), '/', to_string(order)),
                               impl::text(to_string(q.mode), is_of_groups ? ", scales of groups" : ""),
                               [spanned, order, group](const inputs &given) {
                                   return products(spanned, order, group, given);
                               }});
    }
}

} // namespace

const std::vector<source_quantization> &all_source_quantizations() {
    static const std::vector<source_quantization> all = [] {
        std::vector<source_quantization> found;
        for (int by = 0; by <= static_cast<int>(source_quantizer::ggml_avx2); by++)
            for (const source_mode mode : {source_mode::symmetric, source_mode::asymmetric})
                for (const data_type code : {data_type::s8, data_type::u8}) {
                    const source_quantization q{static_cast<source_quantizer>(by), mode, code,
                                                source_span::row};
                    try {
                        impl::check(q);
                        found.push_back(q);
                    } catch (const error &) { // the quantizer has no such codes
                    }
                }
        return found;
    }();
    return all;
}

const std::vector<combination> &all_combinations() {
    static const std::vector<combination> all = [] {
        std::vector<combination> found;
        for (int i = 0; i <= static_cast<int>(combination::ggml_avx2); i++)
            if (!impl::facts_of(static_cast<combination>(i)).has_offsets)
                found.push_back(static_cast<combination>(i));
        return found;
    }();
    return all;
}

codes quantized(const source_quantization &q, const values &x, dim_t group) {
    return quantize(q, x, group).all;
}

codes products(const source_quantization &q, combination order, dim_t group, const inputs &given) {
    const values &weights = given.at(1), &scales = given.at(2);
    const dim_t rows = given[0].dims.at(0), channels = weights.dims.at(0), k = weights.dims.at(1),
                stretch = group > 0 ? group : k, groups = k / stretch;
    const bool has_groups = q.span == source_span::group;
    const quantized_values x = quantize(q, given[0], has_groups ? group : 0);
    codes w, results;
    std::vector<float> s, bias;
    for (std::size_t i = 0; i < weights.count(); i++)
        w.push_back(weights.integer(i));
    for (std::size_t i = 0; i < scales.count(); i++)
        s.push_back(scales.real(i));
    for (dim_t c = 0; given.size() > 3 && c < channels; c++)
        bias.push_back(given[3].real(static_cast<std::size_t>(c)));
    for (dim_t row = 0; row < rows; row++)
        for (dim_t c = 0; c < channels; c++) {
            const impl::product_row source{&x.all[row * k], &x.parameters[row * (has_groups ? groups : 1)],
                                           has_groups};
            const impl::product_column column{&w[c * k], &s[c * groups]};
            results.push_back(
                bits_of(impl::combine(order, k, stretch, source, column, bias.empty() ? nullptr : &bias[c])));
        }
    return results;
}

inputs rows_to_quantize(dim_t rows, dim_t count, dim_t group) {
    generator random(6);
    std::vector<float> x;
    for (dim_t row = 0; row < rows; row++)
        for (dim_t i = 0, stretch = group > 0 ? group : count; i < count; i += stretch)
            if (row == 12)
                x.insert(x.end(), static_cast<std::size_t>(stretch), 0.f);
            else
                add_stretch(x, stretch, row % 9, random);
    return {values_of("x", {rows, count}, x)};
}

subject quantizer_subject(const description &d) {
    subject s;
    s.dst = d.output.type;
    s.dst_row = {d.count};
    s.pool = rows_to_quantize(512, d.count, d.group);
    for (const source_quantization &q : all_source_quantizations())
        if (q.code == d.output.type)
            s.contracts.push_back(
                {to_string(q.by), to_string(q.mode),
                 [q, group = d.group](const inputs &given) { return quantized(q, given.at(0), group); }});
    return s;
}

subject own_codes_subject(const description &d) {
    subject s;
    s.dst = data_type::f32;
    s.dst_row = {d.channels};
    s.pool = operands_for(d);
    for (const combination order : all_combinations()) {
        if (impl::facts_of(order).has_groups != (d.group > 0))
            continue;
        if (const std::string why = refusal_of(order, d.group); !why.empty()) {
            s.refused.push_back({to_string(order), why});
            continue;
        }
        for (const source_quantization &q : all_source_quantizations())
            if (has_products_of_its_own(q))
                add_products(s, q, order, d.group);
    }
    return s;
}

} // namespace octet::match
