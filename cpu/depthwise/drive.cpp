#include "cpu/depthwise/drive.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/depthwise/plan.hpp"
#include "cpu/dot/columns.hpp"
#include "cpu/isa.hpp"
#include "cpu/pack.hpp"
#include "cpu/parallel.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/scratch.hpp"
#include "jit/depthwise.hpp"
#include "jit/interleave.hpp"

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

/// Scratch of a task: rows of quads, a pixel of zero points, copied source rows.
struct buffers {
    std::uint8_t *quads, *padding, *copy;
};

/// A block of weights as the dot kernels' column parameters know it: one group of all channels.
dot_geometry columns_geometry(const convolution_problem &p, const memory_desc &packed_weights) {
    dot_geometry g;
    g.weights = p.weights;
    g.packed_weights = packed_weights;
    g.packed = packed_geometry_of(packed_weights);
    g.weights_zero_points = p.weights_zero_points;
    g.columns = {1, p.groups * p.oc};
    return g;
}

memory_desc packed_by_patches(const convolution_problem &p) {
    memory_desc md = p.weights;
    set_packed_by_patches(md, patches_of(p));
    return md;
}

class depthwise_kernel : public kernel {
public:
    depthwise_kernel(const convolution_problem &problem, cpu_isa level)
        : p_(problem), geometry_(columns_geometry(p_, packed_by_patches(p_))),
          epilogue_(p_.out_stage, geometry_.columns, false),
          plan_(plan_depthwise(p_, level, epilogue_.temps(level))), columns_(geometry_, epilogue_, ranges_),
          sums_source_(p_.weights_zero_points.values.is_set() || p_.weights.data_type == data_type::u8),
          level_(level) {
        for (const bool is_last_line : {false, true})
            for (const bool is_tail : {false, true})
                if (lines() > 1 || is_last_line)
                    kernel_of(is_last_line, is_tail) = make_kernel(is_last_line, is_tail);
        for (const bool is_tail : {false, true})
            interleave_[is_tail] = make_interleave_kernel(is_tail);
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
            bytes += kernel ? kernel->code_bytes() : 0;
        for (const auto &kernel : interleave_)
            bytes += kernel->code_bytes();
        return bytes;
    }

private:
    bool is_signed() const { return p_.src.data_type == data_type::s8; }
    dim_t dst_size() const { return static_cast<dim_t>(memory::data_type_size(p_.dst.data_type)); }
    dim_t channels() const { return p_.groups * p_.oc; }
    dim_t blocks() const { return div_up(channels(), packed_o_block); }
    dim_t phases() const { return plan_.patches.rows.phases; }
    /// Lines of tiles of an image.
    dim_t lines() const { return div_up(p_.out[1], phases()); }
    dim_t src_stride(int axis) const {
        return p_.spatial_ndims < 3 - axis ? 0 : p_.src.strides[axis + p_.spatial_ndims - 1];
    }
    dim_t dst_stride(int axis) const {
        return p_.spatial_ndims < 3 - axis ? 0 : p_.dst.strides[axis + p_.spatial_ndims - 1];
    }
    /// The last block, if it isn't full and its channels are read and written with masks.
    int tail_channels() const { return static_cast<int>(channels() % packed_o_block); }

    const std::shared_ptr<const jit::depthwise_kernel> &kernel_of(bool is_last_line, bool is_tail) const {
        return kernels_[(is_last_line ? 2 : 0) + (is_tail ? 1 : 0)];
    }
    std::shared_ptr<const jit::depthwise_kernel> &kernel_of(bool is_last_line, bool is_tail) {
        return kernels_[(is_last_line ? 2 : 0) + (is_tail ? 1 : 0)];
    }

    /// Null for a tail that does not exist.
    std::shared_ptr<const jit::depthwise_kernel> make_kernel(bool is_last_line, bool is_tail) const {
        if (is_tail && tail_channels() == 0)
            return nullptr;
        jit::depthwise_spec spec;
        spec.level = level_;
        spec.patches = plan_.patches;
        spec.rows = static_cast<int>(is_last_line ? p_.out[1] - (lines() - 1) * phases() : phases());
        spec.tile_columns = static_cast<int>(plan_.tile_columns <= p_.out[2] ? plan_.tile_columns : 0);
        spec.tail_columns = static_cast<int>(p_.out[2] % plan_.tile_columns);
        spec.valid = is_tail ? tail_channels() : static_cast<int>(packed_o_block);
        spec.sums_source = sums_source_;
        spec.block_stride = plan_.block_stride;
        spec.dst_row_stride = dst_stride(1);
        spec.dst_column_stride = dst_stride(2);
        return jit::shared_depthwise_kernel(spec, epilogue_);
    }

    std::shared_ptr<const jit::interleave_kernel> make_interleave_kernel(bool is_tail) const {
        const patch_axis &rows = plan_.patches.rows, &columns = plan_.patches.columns;
        jit::interleave_spec spec;
        spec.level = level_;
        spec.has_byte_permutes = has_byte_permutes();
        spec.flips = is_signed();
        spec.pixels = static_cast<int>((rows.used_size() - 1) * columns.size + columns.used_size());
        // Copied pixels have whole blocks.
        spec.valid =
            is_tail && plan_.in_place && tail_channels() ? tail_channels() : static_cast<int>(packed_o_block);
        spec.block_stride = plan_.block_stride;
        return jit::shared_interleave_kernel(spec);
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
        const dim_t all_lines = p_.mb * lines();
        const task_grid grid = plan_tasks(all_lines, blocks(), get_num_threads());
        parallel_for(grid.bands * grid.panels, 1, [&](dim_t begin, dim_t end) {
            for (dim_t task = begin; task < end; task++) {
                const dim_t tl = task / grid.panels, tb = task % grid.panels;
                run_task(run, {tl * all_lines / grid.bands, (tl + 1) * all_lines / grid.bands,
                               tb * blocks() / grid.panels, (tb + 1) * blocks() / grid.panels});
            }
        });
    }

    void run_task(const execution &run, const work &w) const {
        const dim_t copied = plan_.in_place ? 0 : plan_.patches.rows.size * plan_.copied_row_bytes();
        auto *scratch = static_cast<std::uint8_t *>(
            thread_scratch(scratch_slot::source_rows,
                           static_cast<std::size_t>(plan_.quads_bytes() + plan_.chunk_channels() + copied)));
        const buffers b{scratch, scratch + plan_.quads_bytes(),
                        scratch + plan_.quads_bytes() + plan_.chunk_channels()};
        std::memset(b.padding, run.padding, static_cast<std::size_t>(plan_.chunk_channels()));
        for (dim_t image = w.first_line / lines(); image * lines() < w.last_line; image++) {
            const dim_t first = std::max(w.first_line - image * lines(), dim_t{0}),
                        last = std::min(w.last_line - image * lines(), lines());
            for (dim_t block = w.first_block; block < w.last_block; block += plan_.chunk_blocks)
                for (dim_t column = 0; column < p_.out[2]; column += plan_.band_columns)
                    run_band(run, b, {first, last, block, std::min(block + plan_.chunk_blocks, w.last_block)},
                             image, column);
        }
    }

    /// Lines of tiles from the first to the last, for a chunk of blocks and outputs of each row from `column`
    /// on. The rows of quads that neighbouring lines share stay in scratch.
    void run_band(const execution &run, const buffers &b, const work &w, dim_t image, dim_t column) const {
        const patch_axis &rows = plan_.patches.rows;
        dim_t next = w.first_line * rows.output_step; // row of the grid that isn't in scratch yet
        for (dim_t line = w.first_line; line < w.last_line; line++) {
            const dim_t first = line * rows.output_step;
            for (next = std::max(next, first); next < first + plan_.grid_rows; next++)
                interleave_row(run, b, w, image, next, column);
            multiply_line(run, b, w, image, line, column);
        }
    }

    std::uint8_t *quads_of(const buffers &b, dim_t row) const {
        return b.quads + row % plan_.grid_rows * plan_.row_stride;
    }

    /// Quads of a row of the grid.
    void interleave_row(const execution &run, const buffers &b, const work &w, dim_t image, dim_t row,
                        dim_t column) const {
        const patch_axis &rows = plan_.patches.rows, &columns = plan_.patches.columns;
        const dim_t outputs = std::min(plan_.band_columns, p_.out[2] - column);
        const dim_t first = column / columns.phases * columns.output_step;
        const dim_t count = (div_up(outputs, columns.phases) - 1) * columns.output_step +
                            (columns.patches() > 1 ? (columns.patches() - 1) * columns.patch_step : 0) + 1;
        const position_range all{first, first + count},
            inside = positions_inside(columns, {columns.kernel, p_.stride[2], p_.dilation[2]}, p_.pad[2],
                                      p_.in[2], all);
        const dim_t channel = w.first_block * packed_o_block;

        // Source pixels of x = 0, one per row of the patch; null outside the image.
        const std::uint8_t *lines[taps_per_patch];
        dim_t pixel_stride = src_stride(2);
        for (dim_t e = 0; e < rows.used_size(); e++) {
            const dim_t y = row * rows.grid_step - p_.pad[1] + e * p_.dilation[1];
            lines[e] =
                y < 0 || y >= p_.in[1] ? nullptr : run.src + image * p_.src.strides[0] + y * src_stride(1);
            if (lines[e] && plan_.in_place)
                lines[e] += channel;
            else if (lines[e])
                lines[e] = copy_pixels(lines[e], b.copy + e * plan_.copied_row_bytes(), w, first);
        }
        if (!plan_.in_place)
            pixel_stride = plan_.chunk_channels();

        const auto interleave = [&](dim_t begin, dim_t end) {
            jit::interleave_args args{};
            for (dim_t e = 0; e < rows.used_size(); e++)
                for (dim_t f = 0; f < columns.used_size(); f++) {
                    const dim_t x = begin * columns.grid_step - p_.pad[2] + f * p_.dilation[2];
                    const bool is_inside = lines[e] && x >= 0 && x < p_.in[2];
                    const dim_t pixel = e * columns.size + f;
                    args.pixels[pixel] = is_inside ? lines[e] + x * pixel_stride : b.padding;
                    args.steps[pixel] = is_inside ? columns.grid_step * pixel_stride : 0;
                }
            for (const void *&pixel : args.pixels)
                pixel = pixel ? pixel : b.padding;
            args.quads = quads_of(b, row) + (begin - first) * jit::quad_bytes(level_);
            args.columns = end - begin;
            call_interleave(w, args);
        };
        for (dim_t j = all.first; j < inside.first; j++)
            interleave(j, j + 1);
        if (inside.first < inside.last)
            interleave(inside.first, inside.last);
        for (dim_t j = inside.last; j < all.last; j++)
            interleave(j, j + 1);
    }

    /// Whole blocks first, then a block with fewer channels.
    void call_interleave(const work &w, jit::interleave_args &args) const {
        const dim_t whole = whole_blocks(w, plan_.in_place);
        args.blocks = whole;
        if (whole > 0)
            interleave_[false]->function()(&args);
        if (whole == w.last_block - w.first_block)
            return;
        for (const void *&pixel : args.pixels)
            pixel = static_cast<const std::uint8_t *>(pixel) + whole * packed_o_block;
        args.quads = static_cast<std::uint8_t *>(args.quads) + whole * plan_.block_stride;
        args.blocks = 1;
        interleave_[true]->function()(&args);
    }

    dim_t whole_blocks(const work &w, bool has_tail) const {
        const bool is_partial = has_tail && w.last_block == blocks() && tail_channels() != 0;
        return w.last_block - w.first_block - (is_partial ? 1 : 0);
    }

    /// Copies the pixels under the band of grid positions from `first` on, channels-last and repeated for the
    /// multiplier. Returns where the pixel of x = 0 would be.
    const std::uint8_t *copy_pixels(const std::uint8_t *from, std::uint8_t *to, const work &w,
                                    dim_t first) const {
        const dim_t origin = first * plan_.patches.columns.grid_step - p_.pad[2];
        const dim_t begin = std::max(origin, dim_t{0}),
                    end = std::min(origin + plan_.copied_columns, p_.in[2]);
        const dim_t channel = w.first_block * packed_o_block;
        const dim_t count = std::min(w.last_block * packed_o_block, channels()) - channel;
        std::uint8_t *zero = to - origin * plan_.chunk_channels();
        for (dim_t x = begin; x < end; x++)
            for (dim_t c = 0; c < count; c++)
                zero[x * plan_.chunk_channels() + c] =
                    from[x * src_stride(2) + (channel + c) / p_.oc * p_.src.strides[1]];
        return zero;
    }

    void multiply_line(const execution &run, const buffers &b, const work &w, dim_t image, dim_t line,
                       dim_t column) const {
        const patch_axis &rows = plan_.patches.rows;
        const void *patch_rows[max_patch_vectors];
        for (dim_t a = 0; a < rows.patches(); a++)
            patch_rows[a] = quads_of(b, line * rows.output_step + a * rows.patch_step);
        const dim_t outputs = std::min(plan_.band_columns, p_.out[2] - column);
        jit::depthwise_args args{};
        args.patch_rows = patch_rows;
        args.tiles = outputs / plan_.tile_columns;
        args.has_tail = outputs % plan_.tile_columns != 0;

        const dim_t whole = whole_blocks(w, true);
        const bool is_last_line = line == lines() - 1;
        const dim_t element =
            image * p_.dst.strides[0] + line * phases() * dst_stride(1) + column * dst_stride(2);
        if (whole > 0)
            call_multiply(run, args, *kernel_of(is_last_line, false), w.first_block, whole, element);
        if (whole == w.last_block - w.first_block)
            return;
        for (dim_t a = 0; a < rows.patches(); a++)
            patch_rows[a] = static_cast<const std::uint8_t *>(patch_rows[a]) + whole * plan_.block_stride;
        call_multiply(run, args, *kernel_of(is_last_line, true), w.last_block - 1, 1, element);
    }

    void call_multiply(const execution &run, jit::depthwise_args &args, const jit::depthwise_kernel &kernel,
                       dim_t block, dim_t count, dim_t pixel_element) const {
        const dim_t element = pixel_element + block * packed_o_block;
        const void *full[max_post_ops];
        for (int i = 0; i < static_cast<int>(epilogue_.source().post_ops.size()); i++)
            full[i] = full_tensor(run, i, element);
        args.weights = run.weights + block * geometry_.packed.block_bytes();
        args.initial = run.initial + block * initial_stride();
        args.params = run.params + block * columns_.block_words();
        args.dst = run.dst + element * dst_size();
        args.full = full;
        args.blocks = count;
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
    const bool sums_source_;
    const cpu_isa level_;
    std::array<std::shared_ptr<const jit::depthwise_kernel>, 4> kernels_; ///< by "last line" and "tail block"
    std::array<std::shared_ptr<const jit::interleave_kernel>, 2> interleave_; ///< by "tail block"
};

} // namespace

std::string refuses(const convolution_problem &p) {
    const std::string reason = refuses_depthwise(p);
    return reason.empty() ? refuses_dot(p) : reason;
}

template <cpu_isa level> std::shared_ptr<const kernel> create(const convolution_problem &p) {
    return std::make_shared<depthwise_kernel>(p, level);
}

template std::shared_ptr<const kernel> create<cpu_isa::avx512_vnni>(const convolution_problem &);
template std::shared_ptr<const kernel> create<cpu_isa::avx512_core>(const convolution_problem &);
template std::shared_ptr<const kernel> create<cpu_isa::avx_vnni>(const convolution_problem &);
template std::shared_ptr<const kernel> create<cpu_isa::avx2>(const convolution_problem &);

} // namespace octet::impl::depthwise
