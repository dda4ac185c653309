// Codes: sums first, then results that are looked up; f32: one generated kernel. Both divide rows among threads.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/softmax/rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/requantize.hpp"
#include "common/softmax.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/softmax/code_sums.hpp"
#include "cpu/stream/nest.hpp"
#include "jit/kernels/softmax/f32_rows.hpp"

namespace octet::impl::softmax {

using namespace stream; // its programs and nests of loops

namespace {

// ---- rows

/// Some rows at equal distances.
struct row_batch {
    const std::uint8_t *src;
    std::uint8_t *dst;
    dim_t count, src_step, dst_step; ///< bytes
};

class row_kernel : public kernel {
public:
    explicit row_kernel(const softmax_problem &p)
        : columns_(p.src.dims[p.axis]),
          src_size_(static_cast<dim_t>(memory::data_type_size(p.src.data_type))),
          dst_size_(static_cast<dim_t>(memory::data_type_size(p.dst.data_type))),
          src_offset_(p.src.offset0 * src_size_), dst_offset_(p.dst.offset0 * dst_size_), nest_(nest_of(p)) {}

protected:
    /// body(batch) for batches of up to `max_rows` rows, in parallel.
    template <typename Body>
    void for_each_batch(const arguments &args, dim_t max_rows, const Body &body) const {
        const auto *src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + src_offset_;
        auto *dst = args.get<std::uint8_t>(OCTET_ARG_DST) + dst_offset_;
        const nest::loop &rows = nest_.columns();
        const dim_t src_step = rows.strides[1] * src_size_, dst_step = rows.strides[0] * dst_size_;
        parallel_for(nest_.rows() * rows.size, div_up(elements_per_task, columns_),
                     [&](dim_t begin, dim_t end) {
                         for (dim_t row = begin; row < end;) {
                             operand_offsets at;
                             locate(nest_, row / rows.size, at);
                             const dim_t index = row % rows.size;
                             const row_batch batch{src + at[1] * src_size_ + index * src_step,
                                                   dst + at[0] * dst_size_ + index * dst_step,
                                                   std::min({max_rows, end - row, rows.size - index}),
                                                   src_step, dst_step};
                             body(batch);
                             row += batch.count;
                         }
                     });
    }

    const dim_t columns_;

private:
    /// Over the rows alone.
    static nest nest_of(const softmax_problem &p) {
        memory_desc src = p.src, dst = p.dst;
        src.dims[p.axis] = dst.dims[p.axis] = 1;
        return make_nest(dst, {strides_of(dst), strides_of(src)});
    }

    const dim_t src_size_, dst_size_, src_offset_, dst_offset_; ///< bytes
    const nest nest_;
};

// ---- codes

/// How results follow from exponentials, in the terms of jit/kernels/softmax/codes.
struct code_results {
    jit::softmax_results form;
    softmax_table<std::uint32_t> exponentials;
    int blocks;
    std::int32_t limit, offset;
};

/// A product with a reciprocal that is 1 at most, shifted by 23 or more: below 2^22 nothing is left. Only the
/// sum of 2^13 terms may overflow.
code_results tflite_results(const softmax_problem &p) {
    code_results r{jit::softmax_results::fixed, {}, 4, 255, p.dst.data_type == data_type::s8 ? -128 : 0};
    const softmax_table<std::int32_t> exponentials = tflite_exponentials(p);
    std::memcpy(r.exponentials.data(), exponentials.data(), sizeof exponentials);
    int used = 0;
    for (int d = 0; d < 256; d++)
        used = exponentials[static_cast<std::size_t>(d)] >= (1 << 22) - 1 ? d + 1 : used;
    if (p.src.dims[p.axis] < 1 << 13)
        r.blocks = std::max(1, blocks_of(used));
    return r;
}

/// The largest result before the zero point is added.
std::int32_t limit_of(const softmax_problem &p) {
    return (p.dst.data_type == data_type::s8 ? 127 : 255) - p.dst_zero_point;
}

/// Sums are not below the exponential of the maximum; what is 1/2 at most for it is 0.
code_results ort_results(const softmax_problem &p) {
    code_results r{jit::softmax_results::real, {}, 4, 0, p.dst_zero_point};
    r.limit = limit_of(p);
    softmax_table<float> exponentials = ort_exponentials(p);
    const float multiplier = ort_softmax_multiplier(p), least_sum = exponentials[0];
    int used = 0;
    for (int d = 0; d < 256; d++) {
        float &e = exponentials[static_cast<std::size_t>(d)];
        e *= multiplier;
        used = e / least_sum <= 0.5f ? used : d + 1;
    }
    std::memcpy(r.exponentials.data(), exponentials.data(), sizeof exponentials);
    r.blocks = std::max(1, blocks_of(used));
    return r;
}

/// Sums are 1 at least, which bounds results of each distance.
code_results litert_results(const softmax_problem &p) {
    code_results r{jit::softmax_results::share, {}, 4, limit_of(p), p.dst_zero_point};
    const softmax_table<float> exponentials = litert_exponentials(p);
    std::memcpy(r.exponentials.data(), exponentials.data(), sizeof exponentials);
    const float largest_share = 1.f / p.dst_scale;
    int used = 0;
    for (int d = 0; d < 256; d++)
        used = exponentials[static_cast<std::size_t>(d)] * largest_share + 0.5f < 1.f ? used : d + 1;
    r.blocks = std::max(1, blocks_of(used));
    return r;
}

/// Sums are not below the exponential of the maximum, which bounds results of each distance.
code_results litert_16_bit_results(const softmax_problem &p) {
    code_results r{jit::softmax_results::fixed, {}, 4, limit_of(p), p.dst_zero_point};
    const softmax_table<std::int32_t> exponentials = litert_16_bit_exponentials(p);
    std::memcpy(r.exponentials.data(), exponentials.data(), sizeof exponentials);
    const fixed_point_multiplier largest_share = litert_16_bit_share(p, exponentials[0]);
    int used = 0;
    for (int d = 0; d < 256; d++)
        used = tflite_2step(exponentials[static_cast<std::size_t>(d)], largest_share) == 0 ? used : d + 1;
    r.blocks = std::max(1, blocks_of(used));
    return r;
}

code_results results_of(const softmax_problem &p) {
    switch (softmax_form_of(p)) {
    case softmax_form::tflite:
        return tflite_results(p);
    case softmax_form::litert:
        return litert_results(p);
    case softmax_form::litert_16:
        return litert_16_bit_results(p);
    default:
        return ort_results(p);
    }
}

constexpr dim_t codes_per_batch = 16384; // source and destination fit into a first-level cache

class code_kernel : public row_kernel {
public:
    code_kernel(instruction_set isa, const softmax_problem &p) : code_kernel(isa, p, results_of(p)) {}

    void execute(const arguments &args) const override {
        for_each_batch(args, rows_per_batch_, [&](const row_batch &batch) {
            jit::softmax_code_rows numbers;
            jit::softmax_code_work work{};
            sums_->run({batch.src, batch.dst, batch.count, columns_, batch.src_step, batch.dst_step},
                       numbers);
            if (takes_reciprocals_)
                for (dim_t r = 0; r < batch.count; r++)
                    take_reciprocal(numbers.number[r]);
            const jit::softmax_codes_args a{batch.src,      batch.dst,   &numbers, &exponentials_,
                                            &work,          batch.count, columns_, batch.src_step,
                                            batch.dst_step, limit_,      offset_,  half_};
            results_->function()(&a);
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + results_->code_bytes(); }
    std::string plan() const override { return "contiguous rows: sums over tables, results by distance"; }

private:
    code_kernel(instruction_set isa, const softmax_problem &p, const code_results &r)
        : row_kernel(p),
          rows_per_batch_(std::clamp<dim_t>(codes_per_batch / columns_, 16, jit::softmax_code_rows::most)),
          limit_(static_cast<std::uint32_t>(r.limit) * 0x10001u),
          offset_(static_cast<std::uint32_t>(r.offset)),
          takes_reciprocals_(r.form == jit::softmax_results::share), dst_scale_(p.dst_scale),
          half_(litert_softmax_half(p)), sums_(create_code_sums(isa, p)),
          results_(jit::softmax_codes_code(jit::softmax_codes_spec{isa, r.form, r.blocks})) {
        exponentials_ = {};
        std::copy(r.exponentials.begin(), r.exponentials.end(), exponentials_.by_distance);
        for (std::size_t d = 1; d < r.exponentials.size(); d += 2)
            exponentials_.odd[d - 1] = r.exponentials[d];
    }

    /// In place of the sum.
    void take_reciprocal(std::uint32_t &number) const {
        float x;
        std::memcpy(&x, &number, sizeof x);
        x = 1.f / (x * dst_scale_);
        std::memcpy(&number, &x, sizeof x);
    }

    jit::softmax_exponentials exponentials_;
    const dim_t rows_per_batch_;
    const std::uint32_t limit_, offset_;
    const bool takes_reciprocals_;
    const float dst_scale_, half_;
    const std::unique_ptr<const code_sums> sums_;
    const jit::shared_code<const jit::softmax_codes_args> results_;
};

// ---- f32

/// Numbers that results are multiplied by.
std::vector<float> factors_of(const softmax_problem &p) {
    std::vector<float> factors;
    if (p.src_scale != 1.f)
        factors.push_back(p.src_scale);
    if (p.out_stage.output_scales.is_set())
        factors.push_back(p.out_stage.output_scales.values[0]);
    return factors;
}

std::string refuses_f32(const softmax_problem &p) {
    const epilogue &out = p.out_stage;
    if (p.src.data_type != data_type::f32 || p.dst.data_type != data_type::f32)
        return "types other than f32";
    if (p.is_log)
        return "logarithms";
    if (!out.post_ops.empty() || out.dst_scales.is_set() || out.dst_zero_points.is_set())
        return "post-ops, scales and zero points of dst";
    return out.output_scales.runtime || out.output_scales.mask != 0 ? "several output scales" : "";
}

class f32_kernel : public row_kernel {
public:
    f32_kernel(instruction_set isa, const softmax_problem &p) : row_kernel(p), factors_(factors_of(p)) {
        code_ = jit::softmax_f32_code(jit::softmax_f32_spec{isa, static_cast<int>(columns_ % softmax_lanes),
                                                            static_cast<int>(factors_.size()),
                                                            is_ort_of_reals(p)});
    }

    void execute(const arguments &args) const override {
        for_each_batch(args, std::numeric_limits<dim_t>::max(), [&](const row_batch &batch) {
            jit::softmax_f32_args a{batch.src,      batch.dst,      batch.count, columns_ / softmax_lanes,
                                    batch.src_step, batch.dst_step, {}};
            std::copy(factors_.begin(), factors_.end(), a.factors);
            code_->function()(&a);
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + code_->code_bytes(); }
    std::string plan() const override { return "contiguous rows, each from its maximum to its results"; }

private:
    const std::vector<float> factors_;
    jit::shared_code<const jit::softmax_f32_args> code_;
};

} // namespace

std::string refuses_softmax_rows(const softmax_problem &p) {
    const auto is_contiguous = [&](const memory_desc &md) {
        return md.strides[p.axis] == 1 || md.dims[p.axis] == 1;
    };
    if (p.src.format_kind != format_kind::plain || p.dst.format_kind != format_kind::plain)
        return "a packed layout";
    if (element_count(p.dst) == 0)
        return "an empty tensor";
    if (!is_contiguous(p.src) || !is_contiguous(p.dst))
        return "rows that are not contiguous";
    const softmax_form form = softmax_form_of(p);
    if (form == softmax_form::f32)
        return refuses_f32(p);
    if (memory::data_type_size(p.dst.data_type) != 1)
        return "results of 16 bits";
    const bool is_small = (form == softmax_form::litert && p.dst_scale <= 0x1p-30f) ||
                          (form == softmax_form::litert_16 && p.dst_scale <= 0x1p-14f);
    return is_small ? "a scale of dst so small that shares do not fit" : "";
}

std::shared_ptr<const kernel> create_softmax_rows(instruction_set isa, const softmax_problem &p) {
    if (softmax_form_of(p) == softmax_form::f32)
        return std::make_shared<f32_kernel>(isa, p);
    return std::make_shared<code_kernel>(isa, p);
}

} // namespace octet::impl::softmax
