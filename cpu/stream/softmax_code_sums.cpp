#include "cpu/stream/softmax_code_sums.hpp"

#include <algorithm>
#include <cstring>

#include "common/fixed_point.hpp"
#include "common/requantize.hpp"
#include "cpu/isa.hpp"
#include "cpu/stream/softmax_reductions.hpp"
#include "jit/softmax_sums.hpp"

namespace octet::impl::stream {

namespace {

using jit::softmax_code_row;

template <typename T> row_of<T> row_at(const code_rows &rows, dim_t r) {
    return {static_cast<const T *>(rows.src) + r * rows.step, rows.columns, 1};
}

// ---- TFLite

/// Terms of sums by distance from the maximum.
softmax_table<std::int32_t> terms_of(const softmax_problem &p) {
    softmax_table<std::int32_t> terms = tflite_exponentials(p);
    for (std::int32_t &e : terms)
        e = rounding_divide_by_pot(e, softmax_sum_integer_bits);
    return terms;
}

/// Replaces the sum by what results are computed from: RDP(SRDHM(E, r), s) is, for numbers that are not
/// negative, (E r + 2^30 + 2^(30 + s)) >> (31 + s).
void take_reciprocal(const softmax_problem &p, softmax_code_row &row) {
    const reciprocal r = reciprocal_of(static_cast<std::int32_t>(row.number), softmax_sum_integer_bits);
    int shift = tflite_softmax_shift(p, r.bits_over_unit);
    const bool is_zero = r.value < 0 || shift > 31; // the sum overflowed, or results are below 1/2
    if (is_zero)
        shift = 31;
    row.number = is_zero ? 0 : static_cast<std::uint32_t>(r.value);
    row.rounding = (std::int64_t{1} << 30) + (std::int64_t{1} << (30 + shift));
    row.shift = shift - 1; // of the high dword
}

template <typename T> class tflite_sums : public code_sums {
public:
    explicit tflite_sums(const softmax_problem &p) : p_(p), terms_(terms_of(p)) {}

    void run(const code_rows &rows, softmax_code_row *to) const override {
        for (dim_t r = 0; r < rows.count; r++) {
            const row_of<T> row = row_at<T>(rows, r);
            const std::int32_t highest = maximum_of_codes(row);
            to[r].highest = static_cast<std::uint32_t>(highest);
            to[r].number = sum_of_terms(row, highest, terms_);
            take_reciprocal(p_, to[r]);
        }
    }

private:
    const softmax_problem p_;
    const softmax_table<std::int32_t> terms_;
};

/// With byte permutes.
class permuted_tflite_sums : public code_sums {
public:
    permuted_tflite_sums(cpu_isa level, const softmax_problem &p) : p_(p) {
        const softmax_table<std::int32_t> terms = terms_of(p);
        jit::softmax_sums_spec spec;
        spec.level = level;
        spec.is_signed = p.src.data_type == data_type::s8;
        for (int b = 0; b < jit::softmax_term_bytes; b++) {
            int used = 0;
            for (int d = 0; d < 256; d++) {
                terms_.bytes[b][d] =
                    static_cast<std::uint8_t>(terms[static_cast<std::size_t>(d)] >> (8 * b));
                used = terms_.bytes[b][d] != 0 ? d + 1 : used;
            }
            spec.blocks[static_cast<std::size_t>(b)] = blocks_of(used);
        }
        code_ = jit::shared_softmax_sums_kernel(spec);
    }

    void run(const code_rows &rows, softmax_code_row *to) const override {
        const jit::softmax_sums_args a{rows.src, to, &terms_, rows.count, rows.columns, rows.step};
        code_->function()(&a);
        for (dim_t r = 0; r < rows.count; r++)
            take_reciprocal(p_, to[r]);
    }

private:
    const softmax_problem p_;
    jit::softmax_terms terms_;
    std::shared_ptr<const jit::softmax_sums_kernel> code_;
};

// ---- ONNX Runtime

template <typename T> class ort_sums : public code_sums {
public:
    explicit ort_sums(const softmax_problem &p) : exponentials_(ort_exponentials(p)) {}

    void run(const code_rows &rows, softmax_code_row *to) const override {
        for (dim_t first = 0; first < rows.count; first += static_cast<dim_t>(rows_at_a_time)) {
            std::array<row_of<T>, rows_at_a_time> some;
            std::array<std::int32_t, rows_at_a_time> highest;
            std::array<float, rows_at_a_time> sums;
            for (std::size_t k = 0; k < rows_at_a_time; k++) { // the last row may be there several times
                some[k] = row_at<T>(rows, std::min(first + static_cast<dim_t>(k), rows.count - 1));
                highest[k] = maximum_of_codes(some[k]);
            }
            sums_in_order(some, highest, exponentials_, sums);
            for (std::size_t k = 0; k < rows_at_a_time && first + static_cast<dim_t>(k) < rows.count; k++) {
                softmax_code_row &row = to[first + static_cast<dim_t>(k)];
                row.highest = static_cast<std::uint32_t>(highest[k]);
                std::memcpy(&row.number, &sums[k], sizeof row.number);
            }
        }
    }

private:
    const softmax_table<float> exponentials_;
};

template <typename T> std::unique_ptr<const code_sums> create(cpu_isa level, const softmax_problem &p) {
    if (p.out_stage.rule == requantization_rule::ort_f32)
        return std::make_unique<ort_sums<T>>(p);
    if (permutes_bytes(level))
        return std::make_unique<permuted_tflite_sums>(level, p);
    return std::make_unique<tflite_sums<T>>(p);
}

} // namespace

std::unique_ptr<const code_sums> create_code_sums(cpu_isa level, const softmax_problem &p) {
    return p.src.data_type == data_type::u8 ? create<std::uint8_t>(level, p) : create<std::int8_t>(level, p);
}

bool permutes_bytes(cpu_isa level) {
    return (level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core) && has_byte_permutes();
}

int blocks_of(int count) { return count == 0 ? 0 : count <= 64 ? 1 : count <= 128 ? 2 : 4; }

} // namespace octet::impl::stream
