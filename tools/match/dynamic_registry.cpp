// How many codes and results differ between quantizers and between orders, counted on stated rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "common/combination.hpp"
#include "common/text.hpp"
#include "match/dynamic.hpp"

namespace octet::match {
namespace {

struct column_of_results {
    std::string name;
    codes all;
};

/// Of a million, those that differ between two columns.
std::string differences(const char *what, const std::vector<column_of_results> &columns) {
    std::string table = impl::text("| | ", what, " |"), line = "| --- | --- |";
    for (std::size_t i = 0; i < columns.size(); i++) {
        table += impl::text(' ', i + 1, " |");
        line += " --- |";
    }
    table += '\n' + line;
    for (std::size_t a = 0; a < columns.size(); a++) {
        table += impl::text("\n| ", a + 1, " | ", columns[a].name, " |");
        for (std::size_t b = 0; b < columns.size(); b++) {
            std::int64_t different = 0;
            const auto count = static_cast<std::int64_t>(columns[a].all.size());
            for (std::size_t i = 0; i < columns[a].all.size(); i++)
                different += columns[a].all[i] != columns[b].all[i];
            table += a == b ? " · |" : impl::text(' ', different * 1000000 / count, " |");
        }
    }
    return table + '\n';
}

std::string differences_of_codes(source_mode mode, const values &x) {
    std::vector<column_of_results> columns;
    for (const source_quantization &q : all_source_quantizations()) {
        const bool is_second = q.by == source_quantizer::dynamic && q.code == data_type::u8;
        if (q.mode != mode || is_second)
            continue;
        columns.push_back({impl::text('`', to_string(q.by), '`'), quantized(q, x, 0)});
        if (q.code == data_type::u8) // s8 codes plus 128
            for (std::int32_t &code : columns.back().all)
                code -= 128;
    }
    return differences("quantizer", columns);
}

/// Orders that give equal bits for what all of them are given are one.
std::string differences_of_orders(source_span span, dim_t group, const inputs &given) {
    const source_quantization q{source_quantizer::dynamic, source_mode::symmetric, data_type::s8, span};
    std::vector<column_of_results> columns;
    for (const combination order : all_combinations()) {
        const impl::combination_facts &facts = impl::facts_of(order);
        const bool takes_span =
            span == source_span::group ? facts.takes_source_groups : facts.takes_other_spans;
        if (facts.has_groups != (group > 0) || !takes_span)
            continue;
        const std::string name = impl::text('`', to_string(order), '`');
        codes all = products(q, order, group, given);
        const auto same = std::find_if(columns.begin(), columns.end(),
                                       [&](const column_of_results &c) { return c.all == all; });
        if (same == columns.end())
            columns.push_back({name, std::move(all)});
        else
            same->name += ", " + name;
    }
    return differences("order", columns);
}

/// A sum of twelve uniform numbers: nearly normal.
values uniform_sums(dim_t rows, dim_t count) {
    generator random(11);
    std::vector<float> x;
    for (dim_t i = 0; i < rows * count; i++) {
        std::int64_t sum = 0;
        for (int j = 0; j < 12; j++)
            sum += random.between(-(1 << 20), 1 << 20);
        x.push_back(static_cast<float>(sum) / static_cast<float>(1 << 20));
    }
    return values_of("x", {rows, count}, x);
}

} // namespace

std::string dynamic_page() {
    constexpr dim_t rows = 400, count = 256;
    const values normal = uniform_sums(rows, count), ties = rows_to_quantize(rows, count, 0)[0];
    description d;
    d.inputs = {{data_type::f32, 0, 0}, {data_type::s8, 0, 0}};
    d.count = count;
    d.channels = 64;
    inputs columns = own_codes_subject(d).pool;
    d.group = 32;
    inputs groups = own_codes_subject(d).pool;
    columns[0] = groups[0] = normal;
    return "\n## Sources that are quantized at run time\n\n"
           "[Dynamic quantization](dynamic.md) has the formulas of quantizers and orders. Of a million "
           "codes, those that differ between two\n"
           "quantizers, on 400 rows of 256 numbers as `octet match` proposes them, of which many lie halfway "
           "between two codes; symmetric\n"
           "quantizers first, then asymmetric ones, whose u8 codes are taken less 128:\n\n" +
           differences_of_codes(source_mode::symmetric, ties) + '\n' +
           differences_of_codes(source_mode::asymmetric, ties) +
           "\nOf a million f32 results, those that differ between two orders: equal codes and scales of 400 "
           "rows of 256 nearly normal numbers, 64\n"
           "columns of uniform s8 weights, a bias; orders that agree everywhere share a row. With a scale "
           "for each column:\n\n" +
           differences_of_orders(source_span::row, 0, columns) +
           "\nWith scales of the weights for groups of 32:\n\n" +
           differences_of_orders(source_span::row, 32, groups) +
           "\nWith scales of the source for them, too:\n\n" +
           differences_of_orders(source_span::group, 32, groups);
}

} // namespace octet::match
