#include "cpu/depthwise/drive.hpp"

#include <algorithm>
#include <cstring>

#include "common/text.hpp"
#include "cpu/accumulating/pack.hpp"
#include "cpu/depthwise/plan.hpp"
#include "cpu/dot/columns.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/ref/ref.hpp"
#include "jit/kernels/depthwise.hpp"

namespace octet::impl::depthwise {

namespace {

/// Values of one execution that all tasks share.
struct execution {
    const std::uint8_t *src;
    std::uint8_t *dst;
    const std::int8_t *weights;
    const std::uint32_t *params;
    const std::int32_t *initial;
    std::uint8_t padding;           ///< code of the zero point
    const void *full[max_post_ops]; ///< tensors of dst's layout that post-ops read
};

/// Part of the output that one task computes: lines of tiles of all images × blocks of channels.
struct work {
    dim_t first_line, last_line, first_block, last_block;
};

/// Scratch of a task.
struct buffers {
    const void **row_pointers;
    std::uint8_t *kernel, *padding, *rows; ///< rows: of zero points, or copied ones
};

/// Codes of the zero point, then the same with flipped sign bit.
constexpr dim_t padding_bytes = 2 * jit::padding_codes;

/// What column parameters want to know: one stored group of all channels.
dot_geometry columns_geometry(const convolution_problem &p, const memory_desc &packed_weights) {
    dot_geometry g;
    g.weights = p.weights;
    g.packed_weights = packed_weights;
    g.packed = packed_geometry_of(packed_weights);
    g.weights_zero_points = p.weights_zero_points;
    g.columns = {1, p.groups * p.oc, jit::any_s32};
    return g;
}

memory_desc packed_by_patches(const convolution_problem &p) {
    memory_desc md = p.weights;
    set_packed_by_patches(md, patches_of(p));
    return md;
}

class depthwise_kernel : public kernel {
public:
    depthwise_kernel(const convolution_problem &problem, const machine &m)
        : p_(problem), geometry_(columns_geometry(p_, packed_by_patches(p_))),
          epilogue_(p_.out_stage, geometry_.columns, false), plan_(plan_depthwise(p_, m.isa, epilogue_)),
          columns_(geometry_, epilogue_, ranges_),
          sums_source_(p_.weights_zero_points.values.is_set() || p_.weights.data_type == data_type::u8),
          has_rows_outside_(reads_rows_outside()), isa_(m.isa) {
        for (const channel_part &part : plan_.parts)
            kernels_.push_back(make_kernel(part));
    }

    void execute(const arguments &args) const override {
        const std::int32_t *zp = p_.src_zero_points.bind(args);
        const std::int32_t code = zp ? *zp : 0, unsigned_code = code + (is_signed() ? 128 : 0);
        if (unsigned_code < 0 || unsigned_code > 255) {
            ref::create(p_)->execute(args); // padding can't be expressed in bytes
            return;
        }
        execution run{};
        run.src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + p_.src.offset0;
        run.dst = args.get<std::uint8_t>(OCTET_ARG_DST) + p_.dst.offset0 * dst_size();
        run.padding = static_cast<std::uint8_t>(code);
        run.weights = packed_weights(args);
        run.params = columns_.params(args);
        run.initial = initial(args, run.weights, unsigned_code);
        for (int i = 0; i < static_cast<int>(epilogue_.source().post_ops.size()); i++)
            if (epilogue_.reads_full_tensor(i))
                run.full[i] = args.get<const void>(OCTET_ARG_ATTR_MULTIPLE_POST_OP(i) | OCTET_ARG_SRC_1);
        run_tasks(run);
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + columns_.size_bytes();
        for (const auto &kernel : kernels_)
            bytes += kernel->code_bytes();
        return bytes;
    }

    std::string plan() const override {
        return text(text_of(plan_), ", ", size_in_bytes(geometry_.packed_weights),
                    " bytes of packed weights");
    }

private:
    bool is_signed() const { return p_.src.data_type == data_type::s8; }
    bool reads_rows_outside() const {
        const dim_t last = (p_.out[1] - 1) * p_.stride[1] + (p_.kernel[1] - 1) * p_.dilation[1] - p_.pad[1];
        return p_.pad[1] > 0 || last >= p_.in[1];
    }
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
    std::shared_ptr<const jit::depthwise_kernel> make_kernel(const channel_part &part) const {
        jit::depthwise_spec spec;
        spec.isa = isa_;
        spec.flips_source = is_signed();
        spec.sums_source = sums_source_;
        spec.patches = plan_.patches;
        spec.column_taps = {p_.kernel[2], p_.stride[2], p_.dilation[2]};
        spec.rows = static_cast<int>(whole_rows());
        spec.rest_rows = static_cast<int>(p_.out[1] % whole_rows());
        spec.blocks = part.blocks;
        spec.valid = part.valid;
        spec.pixel_stride = plan_.pixel_stride;
        spec.dst_row_stride = stride(p_.dst, 1);
        spec.dst_column_stride = stride(p_.dst, 2);
        spec.line = part.line;
        return jit::shared_kernel<jit::depthwise_kernel>(spec, epilogue_);
    }

    /// The user's weights, or a copy in this order.
    const std::int8_t *packed_weights(const arguments &args) const {
        const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
        if (memory::desc(p_.weights) == memory::desc(geometry_.packed_weights))
            return static_cast<const std::int8_t *>(weights);
        memory_desc plain = p_.weights;
        if (plain.format_kind == format_kind::packed) { // for another stride, say
            set_row_major(plain);
            void *unpacked = thread_scratch(scratch_slot::source_rows, size_in_bytes(plain));
            unpack_weights(p_.weights, weights, plain, unpacked);
            weights = unpacked;
        }
        void *packed = thread_scratch(scratch_slot::packed_weights, size_in_bytes(geometry_.packed_weights));
        pack_weights(plain, weights, geometry_.packed_weights, packed);
        return static_cast<const std::int8_t *>(packed);
    }

    dim_t initial_stride() const { return packed_o_block * (sums_source_ ? 2 : 1); }

    /// Accumulators to start with. With weights zero points zw: [block][initial, zw], where the kernel sums
    /// the source: Σ (s - zs)(w - zw) = Σ s w - zs Σ w + K zs zw - zw Σ s.
    const std::int32_t *initial(const arguments &args, const std::int8_t *weights,
                                std::int32_t src_zp) const {
        const std::int32_t *plain = columns_.initial(args, weights, src_zp);
        if (!sums_source_)
            return plain;
        const std::int32_t *zps = p_.weights_zero_points.bind(args);
        const bool is_common = p_.weights_zero_points.values.mask == 0;
        const std::int32_t stored_offset = p_.weights.data_type == data_type::u8 ? 128 : 0;
        auto *values = static_cast<std::int32_t *>(
            thread_scratch(scratch_slot::row_sums,
                           static_cast<std::size_t>(blocks() * initial_stride()) * sizeof(std::int32_t)));
        for (dim_t c = 0; c < blocks() * packed_o_block; c++) {
            const dim_t channel = std::min(c, channels() - 1);
            const std::int32_t zp = (zps ? zps[is_common ? 0 : channel] : 0) - stored_offset;
            const auto product = static_cast<std::uint32_t>(geometry_.reduction()) *
                                 static_cast<std::uint32_t>(src_zp) * static_cast<std::uint32_t>(zp);
            std::int32_t *to = values + c / packed_o_block * initial_stride() + c % packed_o_block;
            to[0] = static_cast<std::int32_t>(static_cast<std::uint32_t>(plain[c]) + product);
            to[packed_o_block] = zp;
        }
        return values;
    }

    void run_tasks(const execution &run) const {
        const dim_t all_lines = p_.mb * lines(), panels = div_up(blocks(), task_blocks);
        const task_grid grid = plan_tasks(all_lines, panels, get_num_threads(), true);
        parallel_for(grid.bands * grid.panels, 1, [&](dim_t begin, dim_t end) {
            for (dim_t task = begin; task < end; task++) {
                const dim_t tl = task / grid.panels, tb = task % grid.panels;
                run_task(run, {tl * all_lines / grid.bands, (tl + 1) * all_lines / grid.bands,
                               tb * panels / grid.panels * task_blocks,
                               std::min((tb + 1) * panels / grid.panels * task_blocks, blocks())});
            }
        });
    }

    void run_task(const execution &run, const work &w) const {
        const buffers b = take_buffers(run);
        for (dim_t block = w.first_block; block < w.last_block; block += plan_.chunk_blocks) {
            const dim_t last_block = std::min(block + plan_.chunk_blocks, w.last_block);
            for (dim_t line = w.first_line, count = 0; line < w.last_line; line += count) {
                count = std::min({lines() - line % lines(), w.last_line - line, plan_.band_lines});
                run_lines(run, b, line, count, block, last_block);
            }
        }
    }

    buffers take_buffers(const execution &run) const {
        const dim_t kernel = jit::scratch_bytes(isa_, plan_.patches, epilogue_);
        const dim_t rows =
            plan_.in_place ? plan_.padding_row_bytes : plan_.copied_rows * plan_.copied_row_bytes();
        const dim_t pointers = plan_.band_lines * line_rows() * static_cast<dim_t>(sizeof(void *));
        auto *scratch = static_cast<std::uint8_t *>(thread_scratch(
            scratch_slot::source_rows, static_cast<std::size_t>(kernel + padding_bytes + pointers + rows)));
        std::uint8_t *padding = scratch + kernel, *after = padding + padding_bytes;
        const buffers b{reinterpret_cast<const void **>(after), scratch, padding, after + pointers};
        std::memset(b.padding, run.padding, jit::padding_codes);
        std::memset(b.padding + jit::padding_codes, run.padding ^ (is_signed() ? 0x80 : 0),
                    jit::padding_codes);
        if (plan_.in_place && has_rows_outside_)
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
            const dim_t begin = std::max(first, part.first_block), end = std::min(last, part.last_block);
            if (begin >= end)
                continue;
            args.channel = (begin - first) * packed_o_block;
            args.groups = (end - begin) / part.blocks;
            call_kernel(run, args, *kernels_[i], begin, element);
        }
    }

    /// Source rows under a line, each from the line's first column and the chunk's first channel on.
    void find_rows(const execution &run, const buffers &b, dim_t image, dim_t line, dim_t first_block,
                   dim_t last_block, const void **rows) const {
        const dim_t origin = plan_.in_place ? p_.pad[2] * plan_.pixel_stride : 0;
        for (dim_t t = 0; t < line_rows(); t++) {
            const dim_t y = line * phases() * p_.stride[1] - p_.pad[1] + t * p_.dilation[1];
            const bool is_inside = y >= 0 && y < p_.in[1];
            const std::uint8_t *row =
                is_inside ? run.src + image * p_.src.strides[0] + y * stride(p_.src, 1) : nullptr;
            if (!plan_.in_place)
                row = copy_row(run, row, b.rows + t * plan_.copied_row_bytes(), first_block, last_block);
            else
                row = is_inside ? row + first_block * packed_o_block : b.rows;
            rows[t] = row - origin;
        }
    }

    /// Source columns under a line with their padding, a channel for each output channel. Null: a row
    /// outside.
    const std::uint8_t *copy_row(const execution &run, const std::uint8_t *from, std::uint8_t *to,
                                 dim_t first_block, dim_t last_block) const {
        std::memset(to, run.padding, static_cast<std::size_t>(plan_.copied_row_bytes()));
        const dim_t first = first_block * packed_o_block,
                    last = std::min(last_block * packed_o_block, channels());
        const dim_t end = std::min(p_.in[2], plan_.line_columns - p_.pad[2]);
        for (dim_t x = 0; from && x < end; x++) {
            std::uint8_t *pixel = to + (x + p_.pad[2]) * plan_.pixel_stride;
            for (dim_t c = first; c < last; c++)
                pixel[c - first] = from[x * stride(p_.src, 2) + c / p_.oc * p_.src.strides[1]];
        }
        return to;
    }

    void call_kernel(const execution &run, jit::depthwise_args &args, const jit::depthwise_kernel &kernel,
                     dim_t block, dim_t first_element) const {
        const dim_t element = first_element + block * packed_o_block;
        const void *full[max_post_ops];
        for (int i = 0; i < static_cast<int>(epilogue_.source().post_ops.size()); i++)
            full[i] = full_tensor(run, i, element);
        args.weights = run.weights + block * geometry_.packed.block_bytes();
        args.initial = run.initial + block * initial_stride();
        args.params = run.params + block * columns_.block_words();
        args.dst = run.dst + element * dst_size();
        args.full = full;
        kernel.function()(&args);
    }

    const void *full_tensor(const execution &run, int post_op, dim_t element) const {
        if (!run.full[post_op])
            return nullptr;
        const memory_desc &md =
            std::get<post_op::binary>(epilogue_.source().post_ops[static_cast<std::size_t>(post_op)])
                .src1.data;
        return static_cast<const std::uint8_t *>(run.full[post_op]) +
               (md.offset0 + element) * static_cast<dim_t>(memory::data_type_size(md.data_type));
    }

    const convolution_problem p_;
    const dot_geometry geometry_;
    const jit::epilogue_plan epilogue_;
    const depthwise_plan plan_;
    const std::vector<line_range> ranges_{{0, p_.kernel[0] * p_.kernel[1]}};
    const dot_columns columns_;
    const bool sums_source_, has_rows_outside_;
    const instruction_set isa_;
    std::vector<std::shared_ptr<const jit::depthwise_kernel>> kernels_; ///< of each part of the plan
};

} // namespace

std::string refuses(const convolution_problem &p, const machine &) {
    const std::string reason = refuses_depthwise(p);
    return reason.empty() ? refuses_dot(p) : reason;
}

std::shared_ptr<const kernel> create(const convolution_problem &p, const machine &m) {
    return std::make_shared<depthwise_kernel>(p, m);
}

} // namespace octet::impl::depthwise
