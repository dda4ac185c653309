// Sums in plain loops over several rows at a time, for each framework, and by byte permutes where the CPU has them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/softmax/code_sums.hpp"

#include <algorithm>
#include <cstring>

#include "common/fixed_point.hpp"
#include "common/requantize.hpp"
#include "cpu/softmax/reductions.hpp"
#include "jit/kernels/softmax/sums.hpp"

namespace octet::impl::softmax {

namespace {

using jit::softmax_code_rows;

template <typename T> contiguous_row<T> row_at(const code_rows &rows, dim_t r) {
    return {static_cast<const T *>(rows.src) + r * rows.src_step, rows.columns};
}

// ---- in fixed point

/// (M, s) such that a result is RDP(SRDHM(E, M), s): for numbers that are not negative, (E M + 2^30 + 2^(30 +
/// s)) >> (31 + s).
struct share {
    std::int32_t multiplier;
    int shift;
};

/// Replaces the sum by what results are computed from.
void take_share(softmax_code_rows &rows, dim_t row, const share &s) {
    const bool is_zero = s.multiplier < 0 || s.shift > 31; // the sum overflowed, or results are below 1/2
    rows.number[row] = is_zero ? 0 : static_cast<std::uint32_t>(s.multiplier);
    rows.shift[row] = static_cast<std::uint32_t>(std::min(s.shift, 31) - 1);
}

template <typename T> class integer_sums : public code_sums {
public:
    explicit integer_sums(const softmax_problem &p)
        : p_(p), is_tflite_(is_tflite(p.out_stage.rule)),
          terms_(by_code(is_tflite_ ? tflite_terms(p) : litert_16_bit_exponentials(p))) {}

    void run(const code_rows &rows, softmax_code_rows &to) const override {
        for (dim_t r = 0; r < rows.count; r++) {
            const contiguous_row<T> row = row_at<T>(rows, r);
            const std::int32_t highest = maximum_of_codes(row);
            to.highest[r] = static_cast<std::uint32_t>(highest);
            take_share(to, r, share_of(static_cast<std::int32_t>(sum_of_terms(row, highest, terms_))));
        }
    }

private:
    share share_of(std::int32_t sum) const {
        if (is_tflite_) {
            const reciprocal r = reciprocal_of(sum, softmax_sum_integer_bits);
            return {r.value, tflite_softmax_shift(p_, r.bits_over_unit)};
        }
        const fixed_point_multiplier m = litert_16_bit_share(p_, sum);
        return {m.multiplier, -m.shift};
    }

    const softmax_problem p_;
    const bool is_tflite_;
    const softmax_table<std::int32_t> terms_;
};

// ---- ONNX Runtime and LiteRT

softmax_table<float> real_exponentials(const softmax_problem &p) {
    return is_xnnpack(p.out_stage.rule) ? litert_exponentials(p) : ort_exponentials(p);
}

template <typename T> class real_sums : public code_sums {
public:
    explicit real_sums(const softmax_problem &p) : exponentials_(by_code(real_exponentials(p))) {}

    void run(const code_rows &rows, softmax_code_rows &to) const override {
        constexpr auto several = static_cast<dim_t>(rows_at_a_time);
        dim_t row = 0;
        for (; row + several <= rows.count; row += several)
            add_up<rows_at_a_time>(rows, row, to);
        for (; row < rows.count; row++)
            add_up<1>(rows, row, to);
    }

private:
    template <std::size_t n> void add_up(const code_rows &rows, dim_t first, softmax_code_rows &to) const {
        std::array<contiguous_row<T>, n> some;
        std::array<std::int32_t, n> highest;
        for (std::size_t k = 0; k < n; k++) {
            some[k] = row_at<T>(rows, first + static_cast<dim_t>(k));
            highest[k] = maximum_of_codes(some[k]);
            to.highest[first + static_cast<dim_t>(k)] = static_cast<std::uint32_t>(highest[k]);
        }
        const std::array<float, n> sums = sums_in_order(some, highest, exponentials_);
        std::memcpy(&to.number[first], sums.data(), sizeof sums);
    }

    const softmax_table<float> exponentials_;
};

// ---- with byte permutes

class permuted_sums : public code_sums {
public:
    permuted_sums(const jit::softmax_terms &terms, jit::shared_code<const jit::softmax_sums_args> code)
        : terms_(terms), code_(std::move(code)) {}

    void run(const code_rows &rows, softmax_code_rows &to) const override {
        jit::softmax_sums_work work;
        const jit::softmax_sums_args a{rows.src,     rows.dst,      &to,           &terms_, rows.count,
                                       rows.columns, rows.src_step, rows.dst_step, &work};
        code_->function()(&a);
    }

private:
    const jit::softmax_terms terms_;
    const jit::shared_code<const jit::softmax_sums_args> code_;
};

/// By bytes.
template <typename T> jit::softmax_terms terms_of_bytes(const softmax_table<T> &table) {
    jit::softmax_terms terms;
    for (std::size_t d = 0; d < table.size(); d++) {
        std::uint32_t bits;
        std::memcpy(&bits, &table[d], sizeof bits);
        for (int b = 0; b < 4; b++)
            terms.bytes[b][d] = static_cast<std::uint8_t>(bits >> (8 * b));
    }
    return terms;
}

jit::softmax_sums_spec sums_spec(instruction_set isa, const softmax_problem &p,
                                 const jit::softmax_terms &terms) {
    jit::softmax_sums_spec spec{isa, p.src.data_type == data_type::s8, {}};
    for (std::size_t b = 0; b < spec.blocks.size(); b++) {
        int used = 256;
        while (used > 0 && terms.bytes[b][used - 1] == 0)
            used--;
        spec.blocks[b] = blocks_of(used);
    }
    return spec;
}

std::unique_ptr<const code_sums> create_permuted_tflite(instruction_set isa, const softmax_problem &p) {
    const jit::softmax_terms terms = terms_of_bytes(tflite_terms(p));
    return std::make_unique<permuted_sums>(terms, jit::softmax_fixed_sums_code(sums_spec(isa, p, terms)));
}

std::unique_ptr<const code_sums> create_permuted_reals(instruction_set isa, const softmax_problem &p) {
    const jit::softmax_terms terms = terms_of_bytes(real_exponentials(p));
    return std::make_unique<permuted_sums>(terms, jit::softmax_real_sums_code(sums_spec(isa, p, terms)));
}

template <typename T> std::unique_ptr<const code_sums> create(instruction_set isa, const softmax_problem &p) {
    const softmax_form form = softmax_form_of(p);
    if (form == softmax_form::litert || form == softmax_form::ort) {
        if (isa.byte_permutes)
            return create_permuted_reals(isa, p);
        return std::make_unique<real_sums<T>>(p);
    }
    // Kernels in fixed point count on sums without overflow, and take the reciprocals that TFLite does.
    if (form == softmax_form::tflite && isa.has_dot4() && isa.byte_permutes &&
        p.src.dims[p.axis] < dim_t{1} << 13)
        return create_permuted_tflite(isa, p);
    return std::make_unique<integer_sums<T>>(p);
}

} // namespace

std::unique_ptr<const code_sums> create_code_sums(instruction_set isa, const softmax_problem &p) {
    return p.src.data_type == data_type::u8 ? create<std::uint8_t>(isa, p) : create<std::int8_t>(isa, p);
}

int blocks_of(int count) { return count == 0 ? 0 : count <= 64 ? 1 : count <= 128 ? 2 : 4; }

} // namespace octet::impl::softmax
