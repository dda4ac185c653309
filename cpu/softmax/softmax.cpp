// Softmax over a dimension that is not contiguous: maxima and sums of rows in plain loops, results by tasks
// of the stream kernel that read them as broadcast sources.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/softmax/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/fixed_point.hpp"
#include "common/requantize.hpp"
#include "common/softmax.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/softmax/reductions.hpp"
#include "cpu/softmax/rows.hpp"
#include "cpu/stream/blocks.hpp"
#include "cpu/stream/nest.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/task_builder.hpp"

namespace octet::impl::softmax {

using namespace stream; // its programs and nests of loops

namespace {

using op = jit::stream_op;
using stage = jit::epilogue_stage;

// Tensors between the parts, as arguments of the programs.
constexpr int arg_maximum = OCTET_ARG_MULTIPLE_SRC, arg_sum = arg_maximum + 1, arg_shift = arg_maximum + 2;
constexpr int arg_exponentials = arg_maximum + 3;

using form = softmax_form;

// ---- tensors

/// One number per row.
memory_desc numbers_of_rows(const softmax_problem &p, data_type type) {
    memory_desc md = p.src;
    md.data_type = type;
    md.dims[p.axis] = 1;
    return dense_in_order_of(p.src, md);
}

memory_desc exponentials_of(const softmax_problem &p) {
    memory_desc md = p.src;
    md.data_type = data_type::f32;
    return dense_in_order_of(p.src, md);
}

// ---- programs

template <typename T> std::vector<std::uint32_t> words_of(const softmax_table<T> &table) {
    std::vector<std::uint32_t> words(table.size());
    std::memcpy(words.data(), table.data(), words.size() * sizeof words[0]);
    return words;
}

void with_zero_point(epilogue &out, std::int32_t zero_point) { out.dst_zero_points.values = {zero_point}; }

/// Pushes max - x, an index of the table, and replaces it by its exponential.
template <typename T> void look_up(task_builder &b, const softmax_problem &p, const softmax_table<T> &table) {
    b.load(numbers_of_rows(p, data_type::s32), arg_maximum);
    b.load(p.src, OCTET_ARG_SRC);
    b.step(op::subtract_pair);
    b.code_table(words_of(table));
}

task tflite_task(const softmax_problem &p) {
    epilogue out = p.out_stage;
    with_zero_point(out, p.dst.data_type == data_type::s16  ? -32768
                         : p.dst.data_type == data_type::s8 ? -128
                                                            : 0);
    task_builder b(out);
    look_up(b, p, tflite_exponentials(p));
    b.load(numbers_of_rows(p, data_type::s32), arg_sum);
    b.step(op::multiply_high_pair);
    b.load(numbers_of_rows(p, data_type::s32), arg_shift);
    b.step(op::divide_by_pot_pair);
    return b.finish(stage::s32_value);
}

task ort_task(const softmax_problem &p) {
    epilogue out = p.out_stage;
    with_zero_point(out, p.dst_zero_point);
    out.post_ops.push_back(integer_relu()); // a quotient that overflows is INT32_MIN and becomes 0
    task_builder b(out);
    look_up(b, p, ort_exponentials(p));
    b.step_by(op::multiply, ort_softmax_multiplier(p));
    b.load(numbers_of_rows(p, data_type::f32), arg_sum);
    b.binary(algorithm::binary_div);
    b.step(op::convert_to_s32);
    return b.finish(stage::s32_value);
}

void subtract_maximum(task_builder &b, const softmax_problem &p) {
    b.load(p.src, OCTET_ARG_SRC);
    if (is_integer(p.src.data_type))
        b.step(op::to_f32);
    b.load(numbers_of_rows(p, data_type::f32), arg_maximum);
    b.binary(algorithm::binary_sub);
}

/// exp(x - max)
task exponentials_task(const softmax_problem &p) {
    epilogue out;
    out.rule = unchanged(true);
    out.dst = exponentials_of(p);
    task_builder b(out);
    subtract_maximum(b, p);
    b.eltwise(exponential_of(p), 0.f, 0.f);
    return b.finish(stage::f32_value);
}

task f32_task(const softmax_problem &p) {
    task_builder b(p.out_stage);
    if (p.is_log) {
        subtract_maximum(b, p);
        b.load(numbers_of_rows(p, data_type::f32), arg_sum);
        b.binary(algorithm::binary_sub);
    } else {
        b.load(exponentials_of(p), arg_exponentials);
        b.load(numbers_of_rows(p, data_type::f32), arg_sum);
        b.binary(algorithm::binary_mul);
    }
    if (p.src_scale != 1.f)
        b.step_by(op::multiply, p.src_scale);
    if (p.out_stage.output_scales.is_set())
        b.step(op::multiply, b.values(p.out_stage.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, p.dst));
    return b.finish(stage::f32_value);
}

task main_task(const softmax_problem &p) {
    switch (softmax_form_of(p)) {
    case form::tflite:
        return tflite_task(p);
    case form::ort:
        return ort_task(p);
    default:
        return f32_task(p);
    }
}

// ---- the kernel

/// Of the exponentials, by the C library.
template <typename T> float log_of_sum_in_order(const row_of<T> &row, float maximum) {
    float sum = 0.f;
    for (dim_t i = 0; i < row.count; i++)
        sum = sum + std::exp(static_cast<float>(row[i]) - maximum);
    return std::log(sum);
}

class softmax_kernel : public kernel {
public:
    softmax_kernel(instruction_set isa, const softmax_problem &p)
        : p_(p), form_(softmax_form_of(p)), numbers_(numbers_of_rows(p, data_type::s32)),
          rows_(element_count(numbers_)), main_(plan_task(isa, main_task(p)).make()) {
        if (form_ == form::tflite) {
            terms_ = by_code(tflite_terms(p));
        } else if (form_ == form::ort) {
            real_terms_ = by_code(ort_exponentials(p));
        } else if (!p.sums_in_order) {
            exponentials_ = plan_task(isa, exponentials_task(p)).make();
        }
    }

    void execute(const arguments &args) const override {
        const auto words = static_cast<std::size_t>(rows_);
        const std::size_t exponentials = exponentials_ ? static_cast<std::size_t>(element_count(p_.src)) : 0;
        auto *maxima = static_cast<std::uint32_t *>(
            thread_scratch(scratch_slot::between_steps, (3 * words + exponentials) * sizeof(std::uint32_t)));
        const arguments with_maxima(args, arg_maximum, maxima);
        const arguments with_sums(with_maxima, arg_sum, maxima + words);
        const arguments with_shifts(with_sums, arg_shift, maxima + 2 * words);
        const arguments all(with_shifts, arg_exponentials, maxima + 3 * words);
        switch (p_.src.data_type) {
        case data_type::u8:
            prepare<std::uint8_t>(all);
            break;
        case data_type::s8:
            prepare<std::int8_t>(all);
            break;
        case data_type::s32:
            prepare_f32<std::int32_t>(all);
            break;
        default:
            prepare_f32<float>(all);
        }
        main_->execute(all);
    }

    std::size_t size_bytes() const override {
        return sizeof *this + main_->size_bytes() + (exponentials_ ? exponentials_->size_bytes() : 0);
    }

    std::string plan() const override {
        return text("maximum and sum of each row", exponentials_ ? " of exponentials" : "",
                    exponentials_ ? text(" (", exponentials_->plan(), ")") : "", "; then ", main_->plan());
    }

private:
    template <typename T> void prepare(const arguments &args) const {
        if (form_ == form::tflite)
            prepare_tflite<T>(args);
        else if (form_ == form::ort)
            prepare_ort<T>(args);
        else
            prepare_f32<T>(args);
    }

    /// body(row of `md`, index of its numbers)
    template <typename T, typename Body>
    void for_each_row(const memory_desc &md, const T *data, const Body &body) const {
        const dim_t n = p_.src.dims[p_.axis];
        parallel_for(rows_, div_up(elements_per_task, n), [&](dim_t begin, dim_t end) {
            coordinates at = coordinates_of(begin, numbers_);
            for (dim_t r = begin; r < end; r++) {
                body(row_of<T>{data + plain_offset(md, at), n, md.strides[p_.axis]},
                     plain_offset(numbers_, at));
                advance(at, numbers_);
            }
        });
    }

    template <typename T> void prepare_tflite(const arguments &args) const {
        auto *maxima = args.get<std::int32_t>(arg_maximum), *reciprocals = args.get<std::int32_t>(arg_sum),
             *shifts = args.get<std::int32_t>(arg_shift);
        for_each_row(p_.src, args.get<const T>(OCTET_ARG_SRC), [&](const row_of<T> &row, dim_t to) {
            const std::int32_t highest = maximum_of_codes(row);
            const auto sum = static_cast<std::int32_t>(sum_of_terms(row, highest, terms_));
            const reciprocal r = reciprocal_of(sum, softmax_sum_integer_bits);
            maxima[to] = highest;
            reciprocals[to] = r.value;
            shifts[to] = tflite_softmax_shift(p_, r.bits_over_unit);
        });
    }

    template <typename T> void prepare_ort(const arguments &args) const {
        auto *maxima = args.get<std::int32_t>(arg_maximum);
        auto *sums = args.get<float>(arg_sum);
        const T *src = args.get<const T>(OCTET_ARG_SRC);
        const dim_t n = p_.src.dims[p_.axis];
        for_each_row(p_.src, src,
                     [&](const row_of<T> &row, dim_t to) { maxima[to] = maximum_of_codes(row); });
        parallel_for(
            div_up(rows_, rows_at_a_time), div_up(elements_per_task, n), [&](dim_t begin, dim_t end) {
                for (dim_t batch = begin; batch < end; batch++) {
                    std::array<row_of<T>, rows_at_a_time> rows;
                    std::array<std::int32_t, rows_at_a_time> highest;
                    std::array<dim_t, rows_at_a_time> to;
                    for (std::size_t k = 0; k < rows_at_a_time;
                         k++) { // the last row may be there several times
                        const dim_t r = batch * static_cast<dim_t>(rows_at_a_time) + static_cast<dim_t>(k);
                        const coordinates at = coordinates_of(std::min(r, rows_ - 1), numbers_);
                        to[k] = plain_offset(numbers_, at);
                        highest[k] = maxima[to[k]];
                        rows[k] = {src + plain_offset(p_.src, at), n, p_.src.strides[p_.axis]};
                    }
                    const std::array<float, rows_at_a_time> sum = sums_in_order(rows, highest, real_terms_);
                    for (std::size_t k = 0; k < rows_at_a_time; k++)
                        sums[to[k]] = sum[k];
                }
            });
    }

    template <typename T> void prepare_f32(const arguments &args) const {
        auto *maxima = args.get<float>(arg_maximum), *numbers = args.get<float>(arg_sum);
        auto *exponentials = args.get<float>(arg_exponentials);
        for_each_row(p_.src, args.get<const T>(OCTET_ARG_SRC),
                     [&](const row_of<T> &row, dim_t to) { maxima[to] = maximum_of_reals(row); });
        if (p_.sums_in_order)
            return for_each_row(
                p_.src, args.get<const T>(OCTET_ARG_SRC),
                [&](const row_of<T> &row, dim_t to) { numbers[to] = log_of_sum_in_order(row, maxima[to]); });
        exponentials_->execute(arguments(args, OCTET_ARG_DST, exponentials));
        for_each_row(exponentials_of(p_), exponentials, [&](const row_of<float> &row, dim_t to) {
            const float sum = sum_of(p_, row);
            numbers[to] = p_.is_log ? eltwise_log(sum) : 1.f / sum;
        });
    }

    const softmax_problem p_;
    const form form_;
    const memory_desc numbers_; ///< per row; the forms have different types
    const dim_t rows_;
    softmax_table<std::int32_t> terms_{}; ///< exponentials as terms of sums
    softmax_table<float> real_terms_{};
    const std::shared_ptr<const kernel> main_;
    std::shared_ptr<const kernel> exponentials_; ///< form::f32, unless it sums in order
};

// ---- large tensors in blocks, so that what lies between the parts stays in caches

constexpr dim_t elements_per_block = dim_t{1} << 20;

/// The outermost dimension, or -1 where the attributes have numbers for its elements, or tensors.
int dimension_of_blocks(const softmax_problem &p) {
    const epilogue &out = p.out_stage;
    for (const post_op_entry &entry : out.post_ops)
        if (facts_of(entry).operand != 0)
            return -1;
    if (out.output_scales.mask != 0 || out.dst_scales.mask != 0 || out.dst_zero_points.mask != 0)
        return -1;
    int outermost = -1;
    for (int d = 0; d < p.src.ndims; d++)
        if (d != p.axis && p.src.dims[d] > 1 &&
            (outermost < 0 || p.src.strides[d] > p.src.strides[outermost]))
            outermost = d;
    return outermost;
}

std::shared_ptr<const kernel> make_blocks(instruction_set isa, const softmax_problem &p, int dimension,
                                          dim_t size) {
    stream::partition blocks;
    blocks.ndims = p.src.ndims;
    std::copy(p.src.dims, p.src.dims + p.src.ndims, blocks.dims);
    std::copy(p.src.dims, p.src.dims + p.src.ndims, blocks.block);
    blocks.block[dimension] = size;
    blocks.last_cut = dimension;
    const auto kernel_of = [&](bool is_rest) {
        softmax_problem part = p;
        part.src = blocks.part_of(p.src, is_rest);
        part.dst = part.out_stage.dst = blocks.part_of(p.dst, is_rest);
        return std::make_shared<softmax_kernel>(isa, part);
    };
    return stream::create_blocks(blocks, p.src, p.dst, kernel_of(false),
                                 blocks.rest() != 0 ? kernel_of(true) : nullptr);
}

std::shared_ptr<const kernel> make_softmax(instruction_set isa, const softmax_problem &p) {
    if (!p.sums_in_order && refuses_softmax_rows(p).empty())
        return create_softmax_rows(isa, p);
    const int d = dimension_of_blocks(p);
    const dim_t size =
        d < 0 ? 0 : std::max<dim_t>(1, elements_per_block * p.src.dims[d] / element_count(p.src));
    if (d < 0 || size >= p.src.dims[d])
        return std::make_shared<softmax_kernel>(isa, p);
    return make_blocks(isa, p, d, size);
}

} // namespace

candidate plan(const softmax_problem &p, const machine &m) {
    if (is_small_float(p.src.data_type) || is_small_float(p.dst.data_type))
        return candidate::refused("elements of bf16 or f16");
    if (softmax_form_of(p) == form::ort && p.dst.data_type == data_type::s8 && ort_softmax_overflows(p))
        return candidate::refused("rows so short that products overflow, to s8");
    const instruction_set isa = m.isa;
    if (softmax_form_of(p) == form::litert || softmax_form_of(p) == form::litert_16) {
        const std::string why = refuses_softmax_rows(p);
        return why.empty() ? candidate([=] { return create_softmax_rows(isa, p); }) : candidate::refused(why);
    }
    const candidate main = plan_task(isa, main_task(p));
    if (main.is_refused())
        return main;
    if (softmax_form_of(p) == form::f32) {
        const candidate exponentials = plan_task(isa, exponentials_task(p));
        if (exponentials.is_refused())
            return exponentials;
    }
    return candidate([=] { return make_softmax(isa, p); });
}

} // namespace octet::impl::softmax
