// Loops over the units of a row, which the compiler makes vectors of. Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/recurrent.hpp"

#include <algorithm>

#include "loops/levels.hpp"

namespace octet::loops {
namespace {

/// A NaN becomes the limit, since it is not below; without a bias it stays a NaN.
OCTET_LOOP void add_and_limit(float *sums, const float *bias, dim_t count, float limit) {
    for (dim_t i = 0; i < count; i++) {
        const float x = sums[i] + bias[i], below = x < limit ? x : limit;
        sums[i] = -limit < below ? below : -limit;
    }
}

OCTET_LOOP void limit_alone(float *sums, dim_t count, float limit) {
    for (dim_t i = 0; i < count; i++)
        sums[i] = sums[i] > limit ? limit : sums[i] < -limit ? -limit : sums[i];
}

/// y += a b
inline void add_products(const float *a, const float *b, float *y, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        y[i] = y[i] + a[i] * b[i];
}

inline void multiply(const float *a, const float *b, float *y, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        y[i] = a[i] * b[i];
}

} // namespace

gate::gate(const gate_activation &a, gate_form form, std::optional<float> limit)
    : function_(a, form), limit_(limit), add_and_limit_(compiled_for_level<add_and_limit>()),
      limit_alone_(compiled_for_level<limit_alone>()) {}

void gate::run(float *sums, const float *bias, dim_t count) const {
    if (bias && limit_)
        add_and_limit_(sums, bias, count, *limit_);
    else if (limit_)
        limit_alone_(sums, count, *limit_);
    function_.run(sums, sums, count);
}

lstm_loop::lstm_loop(const parameters &p)
    : gates_(p.gates, gate_form::kernels, p.limit), candidate_(p.candidate, gate_form::kernels, p.limit),
      output_(p.output, gate_form::cell_output), couples_gates_(p.couples_gates) {}

void lstm_loop::run(const lstm_row &row, dim_t first, dim_t count) const {
    float *const cell = row.cell + first, *const hidden = row.hidden + first;
    const auto place = [&](dim_t gate) { return gate * row.units + first; };
    const auto open = [&](const gate &g, dim_t i, bool has_peephole) {
        float *const sums = row.sums + place(i);
        if (has_peephole && row.peepholes)
            add_products(cell, row.peepholes + place(i), sums, count);
        g.run(sums, row.bias ? row.bias + place(i) : nullptr, count);
        return sums;
    };
    float *const admits = open(gates_, 0, true);
    float *const keeps = couples_gates_ ? row.sums + place(2) : open(gates_, 2, true);
    if (couples_gates_)
        for (dim_t i = 0; i < count; i++)
            keeps[i] = 1.f - admits[i];
    const float *const candidate = open(candidate_, 3, false);
    for (dim_t i = 0; i < count; i++)
        cell[i] = cell[i] * keeps[i] + admits[i] * candidate[i];
    const float *const emits = open(gates_, 1, true);
    output_.run(cell, hidden, count);
    multiply(emits, hidden, hidden, count);
}

gru_loop::gru_loop(const parameters &p)
    : update_(p.gates, gate_form::kernels, p.limit), reset_(p.gates, gate_form::quotients, p.limit),
      candidate_(p.candidate, gate_form::quotients, p.limit), resets_product_(p.resets_product) {}

void gru_loop::open(const gru_row &row, dim_t first, dim_t count) const {
    float *const update = row.sums + first, *const reset = update + row.units;
    const float *const bias = row.bias ? row.bias + first : nullptr;
    update_.run(update, bias, count);
    reset_.run(reset, bias ? bias + row.units : nullptr, count);
    if (resets_product_)
        add_products(reset, row.recurrent + first, reset + row.units, count);
    else
        multiply(reset, row.hidden + first, row.reset + first, count);
}

void gru_loop::close(const gru_row &row, dim_t first, dim_t count) const {
    const float *const update = row.sums + first;
    float *const candidate = row.sums + 2 * row.units + first, *const hidden = row.hidden + first;
    candidate_.run(candidate, row.bias ? row.bias + 2 * row.units + first : nullptr, count);
    for (dim_t i = 0; i < count; i++)
        hidden[i] = (1.f - update[i]) * candidate[i] + update[i] * hidden[i];
}

void rnn_loop::run(const float *product, float *sums, float *hidden, dim_t count) const {
    for (dim_t i = 0; i < count; i++)
        sums[i] = product[i] + sums[i];
    gate_.run(sums, nullptr, count);
    std::copy_n(sums, count, hidden);
}

} // namespace octet::loops
