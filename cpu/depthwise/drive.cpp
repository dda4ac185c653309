// Walks the shares of a plan: for each chunk of channels the parameters of its columns, for each line the
// pointers to source rows, copied where they reach outside the image, then one call of the kernel.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/depthwise/drive.hpp"

#include <algorithm>
#include <cstring>

#include "common/text.hpp"
#include "cpu/accumulating/columns.hpp"
#include "cpu/accumulating/full_tensors.hpp"
#include "cpu/accumulating/lazy_kernel.hpp"
#include "cpu/accumulating/padding.hpp"
#include "cpu/depthwise/plan.hpp"
#include "cpu/dot/geometry.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "jit/kernels/depthwise.hpp"

namespace octet::impl::depthwise {

namespace {

/// Values of one execution.
struct execution {
    const std::uint8_t *src;
    std::uint8_t *dst;
    column_arguments columns;
    std::uint8_t padding; ///< code of the zero point
    const full_tensors &full;
    const std::uint32_t *params = nullptr; ///< each thread's own, as the next
    const std::int32_t *initial = nullptr;
};

/// Part of the output that is computed at once: lines of tiles of all images × blocks of channels.
struct work {
    dim_t first_line, end_line, first_block, end_block;
};

/// Scratch of a task.
struct buffers {
    const void **row_pointers;
    std::uint8_t *kernel, *padding, *rows; ///< rows: of zero points, or copied ones
};

/// Codes of the zero point, then the same as they are multiplied.
constexpr dim_t padding_bytes = 2 * jit::padding_codes;

memory_desc packed_by_patches(const convolution_problem &p) {
    memory_desc md = p.weights;
    set_packed_by_patches(md, patches_of(p));
    return md;
}

/// The plan of the epilogue has a copy of its own, with numbers for each channel.
convolution_problem without_epilogue(convolution_problem p) {
    p.out_stage = {};
    return p;
}

jit::epilogue_shape columns_of(const convolution_problem &p, const stored_weights &weights,
                               bool may_start_from_magic_bias) {
    jit::epilogue_shape columns{1, p.groups * p.oc, jit::any_s32};
    if (may_start_from_magic_bias)
        columns.largest_products = weights.largest_products(p.src, p.src_zero_points);
    return columns;
}

class depthwise_driver : public kernel {
public:
    depthwise_driver(const convolution_problem &problem, const machine &m,
                     bool may_start_from_magic_bias = true)
        : p_(without_epilogue(problem)), weights_(p_.weights, packed_by_patches(p_), p_.weights_zero_points),
          epilogue_(problem.out_stage, columns_of(p_, weights_, may_start_from_magic_bias), false),
          plan_(plan_depthwise(p_, m, epilogue_)), columns_(weights_, epilogue_, ranges_, false, m.isa),
          machine_(m) {
        for (const channel_part &part : plan_.parts)
            kernels_.push_back(make_kernel(part));
    }

    void execute(const arguments &args) const override {
        const std::int32_t *zp = p_.src_zero_points.bind(args);
        const std::int32_t code = zp ? *zp : 0, code_in_products = code + (flips_source() ? 128 : 0);
        const column_arguments columns = columns_.bind(args, code_in_products);
        if (!columns_.may_start_from_magic_bias(columns))
            return from_zero_.get([&] { return make_from_zero(); }).execute(args);
        const full_tensors full(epilogue_, args);
        run_tasks({args.get<const std::uint8_t>(OCTET_ARG_SRC) + p_.src.offset0,
                   args.get<std::uint8_t>(OCTET_ARG_DST) + p_.dst.offset0 * dst_size(), columns,
                   static_cast<std::uint8_t>(code), full});
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + columns_.size_bytes();
        for (const auto &kernel : kernels_)
            bytes += kernel->code_bytes();
        return bytes;
    }

    std::string plan() const override {
        return text(text_of(plan_), ", ", weights_.size_bytes(), " bytes of packed weights");
    }

private:
    std::shared_ptr<const kernel> make_from_zero() const {
        convolution_problem p = p_;
        p.out_stage = epilogue_.source();
        return std::make_shared<depthwise_driver>(p, machine_, false);
    }
    bool is_signed() const { return p_.src.data_type == data_type::s8; }
    bool flips_source() const { return is_signed() && !machine_.isa.signed_dot4; }
    dim_t dst_size() const { return static_cast<dim_t>(memory::data_type_size(p_.dst.data_type)); }
    dim_t channels() const { return p_.groups * p_.oc; }
    dim_t blocks() const { return div_up(channels(), packed_o_block); }
    dim_t phases() const { return plan_.patches.rows.phases; }
    /// Lines of tiles of an image.
    dim_t lines() const { return div_up(p_.out[1], phases()); }
    dim_t whole_rows() const { return std::min(phases(), p_.out[1]); }
    /// Lines that have `whole_rows`: all but the last one of an image, or all.
    dim_t whole_lines() const { return p_.out[1] / whole_rows(); }
    /// Source rows under a line.
    dim_t line_rows() const { return plan_.patches.rows.covered(phases()); }
    /// Strides of height (1) and width (2).
    dim_t stride(const memory_desc &md, int axis) const {
        return axis == 1 && p_.spatial_ndims == 1 ? 0 : md.strides[p_.spatial_ndims - 1 + axis];
    }
    jit::shared_code<const jit::depthwise_args> make_kernel(const channel_part &part) const {
        jit::depthwise_spec spec;
        spec.isa = machine_.isa;
        spec.flips_source = flips_source();
        spec.multiplies_signed = is_signed() && !flips_source();
        spec.sums_source = weights_.sums_source();
        spec.patches = plan_.patches;
        spec.column_taps = {p_.kernel[2], p_.stride[2], p_.dilation[2]};
        spec.rows = static_cast<int>(whole_rows());
        spec.rest_rows = static_cast<int>(p_.out[1] % whole_rows());
        spec.blocks = part.blocks;
        spec.valid = part.valid;
        spec.pixel_stride = plan_.pixel_stride;
        spec.dst_row_stride = stride(p_.dst, 1);
        spec.dst_column_stride = stride(p_.dst, 2);
        spec.slides = part.slides;
        spec.line = part.line;
        return jit::depthwise_code(spec, epilogue_);
    }

    dim_t initial_stride() const { return packed_o_block * (weights_.sums_source() ? 2 : 1); }

    /// Accumulators to start with. With weights zero points zw: [block][initial, zw], where the kernel sums
    /// the source: Σ (s - zs)(w - zw) = Σ s w - zs Σ w + K zs zw - zw Σ s.
    const std::int32_t *initial(const column_arguments &args) const {
        const std::int32_t *plain = columns_.initial(args);
        if (!weights_.sums_source())
            return plain;
        const stored_weights::bound_zero_points zero_points(weights_, args.all);
        auto *values = static_cast<std::int32_t *>(
            thread_scratch(scratch_slot::row_sums,
                           static_cast<std::size_t>(blocks() * initial_stride()) * sizeof(std::int32_t)));
        for (dim_t c = 0; c < blocks() * packed_o_block; c++) {
            const std::int32_t zp = zero_points[std::min(c, channels() - 1)];
            const auto product = static_cast<std::uint32_t>(weights_.reduction()) *
                                 static_cast<std::uint32_t>(args.src_zero_point) *
                                 static_cast<std::uint32_t>(zp);
            std::int32_t *to = values + c / packed_o_block * initial_stride() + c % packed_o_block;
            to[0] = static_cast<std::int32_t>(static_cast<std::uint32_t>(plain[c]) + product);
            to[packed_o_block] = zp;
        }
        return values;
    }

    void run_tasks(const execution &shared) const {
        const std::vector<share> &shares = plan_.shares;
        parallel_for(static_cast<dim_t>(shares.size()), 1, [&](dim_t begin, dim_t end) {
            execution run = shared;
            run.params = columns_.params(run.columns);
            run.initial = initial(run.columns);
            for (dim_t task = begin; task < end; task++)
                for (const cell_range &c : shares[static_cast<std::size_t>(task)])
                    run_task(run, {c.first_row, c.end_row, c.first_panel * task_blocks,
                                   std::min(c.end_panel * task_blocks, blocks())});
        });
    }

    void run_task(const execution &run, const work &w) const {
        const buffers b = take_buffers(run);
        for (dim_t block = w.first_block; block < w.end_block; block += plan_.chunk_blocks) {
            const dim_t end_block = std::min(block + plan_.chunk_blocks, w.end_block);
            for (dim_t line = w.first_line, count = 0; line < w.end_line; line += count) {
                count = std::min({lines() - line % lines(), w.end_line - line, plan_.band_lines});
                run_lines(run, b, line, count, block, end_block);
            }
        }
    }

    buffers take_buffers(const execution &run) const {
        const dim_t kernel = jit::scratch_bytes(machine_.isa, plan_.patches, epilogue_);
        const dim_t rows =
            plan_.in_place ? plan_.padding_row_bytes : plan_.copied_rows * plan_.copied_row_bytes();
        const dim_t pointers = plan_.band_lines * line_rows() * static_cast<dim_t>(sizeof(void *));
        auto *scratch = static_cast<std::uint8_t *>(thread_scratch(
            scratch_slot::source_rows, static_cast<std::size_t>(kernel + padding_bytes + pointers + rows)));
        std::uint8_t *padding = scratch + kernel, *after = padding + padding_bytes;
        const buffers b{reinterpret_cast<const void **>(after), scratch, padding, after + pointers};
        std::memset(b.padding, run.padding, jit::padding_codes);
        std::memset(b.padding + jit::padding_codes, run.padding ^ (flips_source() ? 0x80 : 0),
                    jit::padding_codes);
        if (plan_.in_place && plan_.has_rows_outside)
            std::memset(b.rows, run.padding, static_cast<std::size_t>(plan_.padding_row_bytes));
        return b;
    }

    /// Lines of tiles of one image (counted over all images) for blocks [first, last).
    void run_lines(const execution &run, const buffers &b, dim_t all_lines, dim_t count, dim_t first,
                   dim_t last) const {
        const dim_t image = all_lines / lines(), line = all_lines % lines();
        for (dim_t i = 0; i < count; i++)
            find_rows(run, b, image, line + i, first, last, b.row_pointers + i * line_rows());
        jit::depthwise_args args{};
        args.rows = b.row_pointers;
        args.padding = b.padding;
        args.scratch = b.kernel;
        args.lines = std::min(line + count, whole_lines()) - std::min(line, whole_lines());
        args.rest_line = count - args.lines;
        const dim_t element = image * p_.dst.strides[0] + line * phases() * stride(p_.dst, 1);
        for (std::size_t i = 0; i < plan_.parts.size(); i++) {
            const channel_part &part = plan_.parts[i];
            const dim_t begin = std::max(first, part.first_block), end = std::min(last, part.end_block);
            if (begin >= end)
                continue;
            args.channel = (begin - first) * packed_o_block;
            args.groups = (end - begin) / part.blocks;
            call_kernel(run, args, *kernels_[i], begin, element);
        }
    }

    /// Source rows under a line, each from the line's first column and the chunk's first channel on.
    void find_rows(const execution &run, const buffers &b, dim_t image, dim_t line, dim_t first_block,
                   dim_t end_block, const void **rows) const {
        const dim_t origin = plan_.in_place ? p_.pad[2] * plan_.pixel_stride : 0;
        for (dim_t t = 0; t < line_rows(); t++) {
            const dim_t y = line * phases() * p_.stride[1] - p_.pad[1] + t * p_.dilation[1];
            const bool is_inside = y >= 0 && y < p_.in[1];
            const std::uint8_t *row =
                is_inside ? run.src + image * p_.src.strides[0] + y * stride(p_.src, 1) : nullptr;
            if (!plan_.in_place)
                row = copy_row(run, row, b.rows + t * plan_.copied_row_bytes(), first_block, end_block);
            else
                row = is_inside ? row + first_block * packed_o_block : b.rows;
            rows[t] = row - origin;
        }
    }

    /// Source columns under a line with their padding, a channel for each output channel. Null: a row
    /// outside.
    const std::uint8_t *copy_row(const execution &run, const std::uint8_t *from, std::uint8_t *to,
                                 dim_t first_block, dim_t end_block) const {
        std::memset(to, run.padding, static_cast<std::size_t>(plan_.copied_row_bytes()));
        const dim_t first = first_block * packed_o_block,
                    last = std::min(end_block * packed_o_block, channels());
        const dim_t end = std::min(p_.in[2], plan_.line_columns - p_.pad[2]);
        for (dim_t x = 0; from && x < end; x++) {
            std::uint8_t *pixel = to + (x + p_.pad[2]) * plan_.pixel_stride;
            for (dim_t c = first; c < last; c++)
                pixel[c - first] = from[x * stride(p_.src, 2) + c / p_.oc * p_.src.strides[1]];
        }
        return to;
    }

    void call_kernel(const execution &run, jit::depthwise_args &args,
                     const jit::finished_code<const jit::depthwise_args> &kernel, dim_t block,
                     dim_t first_element) const {
        const dim_t element = first_element + block * packed_o_block;
        const void *full[max_post_ops];
        run.full.find(element, full);
        args.weights = run.columns.weights + block * weights_.geometry().block_bytes();
        args.initial = run.initial + block * initial_stride();
        args.params = run.params + block * columns_.block_words();
        args.dst = run.dst + element * dst_size();
        args.full = full;
        kernel.function()(&args);
    }

    const convolution_problem p_;
    const stored_weights weights_;
    const jit::epilogue_plan epilogue_;
    const depthwise_plan plan_;
    const std::vector<line_range> ranges_{{0, p_.kernel[0] * p_.kernel[1]}};
    const columns columns_;
    const machine machine_;
    const lazy_kernel from_zero_; ///< for biases too large for the epilogue's magic bias
    std::vector<jit::shared_code<const jit::depthwise_args>> kernels_; ///< of each part of the plan
};

} // namespace

candidate plan(const convolution_problem &p, const machine &m) {
    std::string reason = refuses_depthwise(p);
    if (reason.empty())
        reason = refuses_dot(p);
    if (!reason.empty())
        return candidate::refused(reason);
    return with_padding(p, candidate([p, m] { return std::make_shared<depthwise_driver>(p, m); }));
}

} // namespace octet::impl::depthwise
