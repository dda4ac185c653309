#include "cpu/dot/drive.hpp"

#include <algorithm>
#include <map>

#include "common/element.hpp"
#include "common/rounding.hpp"
#include "common/text.hpp"
#include "cpu/dot/copy.hpp"
#include "cpu/dot/plan.hpp"
#include "cpu/isa.hpp"
#include "cpu/pack.hpp"
#include "cpu/parallel.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/scratch.hpp"

namespace octet::impl::dot {

namespace {

/// Values of one execution that all tasks share.
struct execution {
    const std::uint8_t *src;
    std::uint8_t *dst;
    const std::int8_t *weights;
    const std::uint32_t *params;
    std::uint8_t flip, padding;
    const void *full[max_post_ops]; ///< tensors of dst's layout that post-ops read
};

template <typename Problem> class dot_kernel : public kernel {
public:
    dot_kernel(const Problem &problem, cpu_isa level)
        : problem_(problem), geometry_(dot_geometry_of(problem_)),
          has_row_sums_(geometry_.weights_zero_points.values.is_set() ||
                        geometry_.weights.data_type == data_type::u8),
          epilogue_(problem_.out_stage, geometry_.columns, has_row_sums_),
          plan_(plan_dot(geometry_, {level, get_num_threads(), l2_cache_bytes()}, epilogue_.temps(level))),
          level_(level) {
        for (const int rows : {plan_.tiles.rows, plan_.tiles.tail_rows})
            for (const bool last : {false, true})
                if (rows > 0)
                    kernels_[{rows, last}] = make_kernel(rows, last);
        for (dim_t kd = 0; kd < plan_.tap_counts[0]; kd++)
            for (dim_t kh = 0; kh < plan_.tap_counts[1]; kh++)
                for (dim_t kw = 0; kw < plan_.tap_counts[2]; kw++)
                    tap_offsets_.push_back(kd * plan_.tap_strides[0] + kh * plan_.tap_strides[1] +
                                           kw * plan_.tap_strides[2]);
    }

    void execute(const arguments &args) const override {
        const std::int32_t *zp = geometry_.src_zero_points.bind(args);
        const std::int32_t src_zp = (zp ? *zp : 0) + (geometry_.flips_source() ? 128 : 0);
        if (plan_.source == row_source::copied_image && (src_zp < 0 || src_zp > 255)) {
            ref::create(problem_)->execute(args); // padding can't be expressed in bytes
            return;
        }
        execution run{};
        run.src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + geometry_.src.offset0;
        run.dst = args.get<std::uint8_t>(OCTET_ARG_DST) + geometry_.dst.offset0 * dst_size();
        run.flip = geometry_.flips_source() ? 0x80 : 0;
        run.padding = static_cast<std::uint8_t>(src_zp);
        run.weights = packed_weights(args);
        run.params = column_params(args, run.weights, src_zp);
        for (int i = 0; i < static_cast<int>(epilogue_.source().post_ops.size()); i++)
            if (epilogue_.reads_full_tensor(i))
                run.full[i] = args.get<const void>(OCTET_ARG_ATTR_MULTIPLE_POST_OP(i) | OCTET_ARG_SRC_1);
        run_tasks(run);
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + tap_offsets_.size() * sizeof(dim_t);
        for (const auto &entry : kernels_)
            bytes += entry.second->code_bytes();
        return bytes;
    }

private:
    dim_t dst_size() const { return static_cast<dim_t>(memory::data_type_size(geometry_.dst.data_type)); }
    dim_t block_words() const { return epilogue_.planes().count * jit::columns_per_block; }

    std::shared_ptr<const jit::dot_kernel> make_kernel(int rows, bool last_panel) const {
        jit::dot_spec spec;
        spec.level = level_;
        spec.rows = rows;
        spec.vectors =
            last_panel && plan_.tiles.last_vectors ? plan_.tiles.last_vectors : plan_.tiles.vectors;
        spec.tail = last_panel ? plan_.tiles.tail
                               : (level_ == cpu_isa::avx512_vnni || level_ == cpu_isa::avx512_core ? 16 : 8);
        spec.row_stride = plan_.row_stride;
        spec.dst_row_stride = geometry_.dst_strides[2];
        spec.taps = plan_.taps;
        spec.quads = plan_.quads;
        return jit::shared_dot_kernel(spec, epilogue_);
    }

    /// The user's packed weights, or a packed copy of plain ones.
    const std::int8_t *packed_weights(const arguments &args) const {
        const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
        if (geometry_.weights.format_kind == format_kind::packed)
            return static_cast<const std::int8_t *>(weights);
        void *packed = thread_scratch(scratch_slot::packed_weights, size_in_bytes(geometry_.packed_weights));
        pack_weights(geometry_.weights, weights, geometry_.packed_weights, packed);
        return static_cast<const std::int8_t *>(packed);
    }

    /// Planes of all column blocks. acc_init = bias - zs Σw + K zs zw: with the row sums, Σ (s - zs)(w - zw)
    /// without zero points in the reduction.
    const std::uint32_t *column_params(const arguments &args, const std::int8_t *weights,
                                       std::int32_t src_zp) const {
        const packed_geometry &p = geometry_.packed;
        const dim_t blocks = p.groups * p.o_blocks();
        auto *params = static_cast<std::uint32_t *>(thread_scratch(
            scratch_slot::column_params, static_cast<std::size_t>(blocks * block_words()) * 4));
        const std::int32_t *sums = packed_sums(p, weights);
        const std::int32_t *weights_zps = geometry_.weights_zero_points.bind(args);
        const epilogue &e = epilogue_.source();
        const bool bias_in_acc = e.bias.ndims != 0 && epilogue_.planes().bias < 0;
        const std::int32_t stored_offset = geometry_.weights.data_type == data_type::u8 ? 128 : 0;

        for (dim_t g = 0; g < p.groups; g++) {
            // All batches of a matmul share the columns; a convolution's groups have their own.
            const dim_t first_channel = geometry_.groups > 1 ? g * p.o : 0;
            std::uint32_t *group_params = params + g * p.o_blocks() * block_words();
            epilogue_.fill(args, first_channel, p.o, group_params);
            for (dim_t o = 0; o < p.o_blocks() * packed_o_block; o++) {
                const dim_t channel = first_channel + std::min(o, p.o - 1);
                std::uint32_t *word = group_params + o / packed_o_block * block_words() + o % packed_o_block;
                coordinates at{};
                at[static_cast<std::size_t>(geometry_.columns.channel_dim)] = channel;
                const std::int64_t bias = bias_in_acc
                                              ? load_s32(args.get<const void>(OCTET_ARG_BIAS),
                                                         e.bias.data_type, broadcast_offset(e.bias, at))
                                              : 0;
                const std::int64_t weights_zp =
                    (weights_zps ? weights_zps[geometry_.weights_zero_points.values.mask == 0 ? 0 : channel]
                                 : 0) -
                    stored_offset;
                const std::int64_t sum = sums[g * p.o_blocks() * packed_o_block + o];
                const std::int32_t zero_terms =
                    wrap(std::int64_t{src_zp} * wrap(geometry_.reduction() * weights_zp - sum));
                word[epilogue_.planes().acc_init * jit::columns_per_block] =
                    static_cast<std::uint32_t>(wrap(bias + zero_terms));
                if (has_row_sums_)
                    word[epilogue_.planes().weights_zero_point * jit::columns_per_block] =
                        static_cast<std::uint32_t>(weights_zp);
            }
        }
        return params;
    }

    /// Bands of all outer indices × panels, in a grid of one task per thread.
    void run_tasks(const execution &run) const {
        const dim_t units = plan_.is_flat ? plan_.line_length : geometry_.height;
        const dim_t planes = plan_.is_flat ? 1 : geometry_.depth;
        const dim_t all_panels = geometry_.groups * plan_.tiles.panels;
        const int threads = get_num_threads();
        // Smaller bands if there are not enough of them to share.
        dim_t band = plan_.band_lines;
        const dim_t step = plan_.is_flat ? plan_.tiles.rows : 1;
        const dim_t wanted = div_up(threads, geometry_.outer() * planes);
        if (div_up(units, band) % wanted != 0)
            band = std::min(band, div_up(div_up(units, wanted), step) * step);
        const dim_t bands_per_plane = div_up(units, band);
        const dim_t bands = geometry_.outer() * planes * bands_per_plane;
        const task_grid grid = plan_tasks(bands, all_panels, threads);

        parallel_for(grid.bands * grid.panels, 1, [&](dim_t begin, dim_t end) {
            for (dim_t task = begin; task < end; task++) {
                const dim_t tb = task / grid.panels, tp = task % grid.panels;
                const dim_t first_panel = tp * all_panels / grid.panels,
                            last_panel = (tp + 1) * all_panels / grid.panels;
                for (dim_t b = tb * bands / grid.bands; b < (tb + 1) * bands / grid.bands; b++) {
                    const dim_t unit = b % bands_per_plane * band;
                    run_band(run, b / bands_per_plane / planes, b / bands_per_plane % planes, unit,
                             std::min(band, units - unit), first_panel, last_panel);
                }
            }
        });
    }

    /// Lines (flat: rows) [first, first + count) of plane od of one outer index against panels [first_panel,
    /// last_panel).
    void run_band(const execution &run, dim_t outer, dim_t od, dim_t first, dim_t count, dim_t first_panel,
                  dim_t last_panel) const {
        const std::uint8_t *src = run.src + geometry_.src_outer[static_cast<std::size_t>(outer)];
        const copy_source copy{src, run.flip, run.padding};
        const dim_t first_row = plan_.is_flat ? first : (od * geometry_.height + first) * geometry_.width;
        dim_t line_stride = plan_.line_stride;
        if (plan_.source == row_source::in_place) {
            src += plan_.is_flat ? first * plan_.row_stride
                                 : od * geometry_.src_row_strides[0] + first * geometry_.src_row_strides[1];
            line_stride = geometry_.src_row_strides[1];
        } else {
            auto *scratch = static_cast<std::uint8_t *>(
                thread_scratch(scratch_slot::source_rows, static_cast<std::size_t>(plan_.scratch_bytes)));
            if (plan_.source == row_source::copied_rows)
                copy_rows(geometry_, plan_, copy, first_row, plan_.is_flat ? count : count * geometry_.width,
                          scratch);
            else
                copy_image(geometry_, plan_, copy, od, first, count, scratch);
            src = scratch;
        }
        const dim_t lines = plan_.is_flat ? 1 : count, rows = plan_.is_flat ? count : geometry_.width;
        const dim_t dst_line =
            geometry_.dst_outer[static_cast<std::size_t>(outer)] +
            (plan_.is_flat ? first * geometry_.dst_strides[2]
                           : od * geometry_.dst_strides[0] + first * geometry_.dst_strides[1]);

        dim_t summed_group = -1;
        const std::int32_t *row_sums = nullptr;
        for (dim_t panel = first_panel; panel < last_panel; panel++) {
            const dim_t group = panel / plan_.tiles.panels;
            const std::uint8_t *group_src =
                src + group * geometry_.packed.merged * geometry_.packed.i_per_member;
            if (has_row_sums_ && group != summed_group) {
                row_sums = sum_rows(group_src, lines, line_stride, rows);
                summed_group = group;
            }
            for (dim_t line = 0; line < lines; line++)
                run_line(run, outer, group, panel % plan_.tiles.panels, group_src + line * line_stride, rows,
                         dst_line + line * geometry_.dst_strides[1],
                         row_sums ? row_sums + line * rows : nullptr);
        }
    }

    /// Sums of the source bytes that each row multiplies.
    const std::int32_t *sum_rows(const std::uint8_t *src, dim_t lines, dim_t line_stride, dim_t rows) const {
        auto *sums = static_cast<std::int32_t *>(thread_scratch(
            scratch_slot::row_sums, static_cast<std::size_t>(lines * rows) * sizeof(std::int32_t)));
        // A merged tap's bytes beyond its channels would meet zero weights, but must not be summed.
        const dim_t segment = geometry_.packed.i / packed_i_block * packed_i_block == geometry_.packed.i
                                  ? plan_.quads * packed_i_block
                                  : geometry_.packed.i;
        for (dim_t line = 0; line < lines; line++)
            for (dim_t r = 0; r < rows; r++) {
                std::int32_t sum = 0;
                for (const dim_t tap : tap_offsets_) {
                    const std::uint8_t *bytes = src + line * line_stride + r * plan_.row_stride + tap;
                    for (dim_t i = 0; i < segment; i++)
                        sum += bytes[i];
                }
                sums[line * rows + r] = sum;
            }
        return sums;
    }

    void run_line(const execution &run, dim_t outer, dim_t group, dim_t panel, const std::uint8_t *src,
                  dim_t rows, dim_t dst_element, const std::int32_t *row_sums) const {
        const packed_geometry &p = geometry_.packed;
        const bool last = panel == plan_.tiles.panels - 1;
        const dim_t stored_group = geometry_.first_group[static_cast<std::size_t>(outer)] + group;
        const dim_t block = stored_group * p.o_blocks() + panel * plan_.tiles.blocks_per_panel;
        const dim_t column = group * p.o + panel * plan_.tiles.blocks_per_panel * packed_o_block;
        const void *full[max_post_ops];
        const dim_t row_tiles = rows / plan_.tiles.rows;

        const auto call = [&](int tile_rows, dim_t first_row, dim_t tiles) {
            if (tiles == 0)
                return;
            const dim_t element = dst_element + first_row * geometry_.dst_strides[2] + column;
            for (int i = 0; i < static_cast<int>(epilogue_.source().post_ops.size()); i++)
                full[i] = full_tensor(run, i, element);
            const jit::dot_args args{src + first_row * plan_.row_stride,
                                     run.weights + block * p.block_bytes(),
                                     run.params + block * block_words(),
                                     run.dst + element * dst_size(),
                                     full,
                                     row_sums ? row_sums + first_row : nullptr,
                                     tap_offsets_.data(),
                                     tiles};
            kernels_.at({tile_rows, last})->function()(&args);
        };
        call(plan_.tiles.rows, 0, row_tiles);
        const dim_t rest = rows - row_tiles * plan_.tiles.rows;
        if (rest > 0)
            call(static_cast<int>(rest), row_tiles * plan_.tiles.rows, 1);
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

    const Problem problem_;
    const dot_geometry geometry_;
    const bool has_row_sums_;
    const jit::epilogue_plan epilogue_;
    const dot_plan plan_;
    const cpu_isa level_;
    std::map<std::pair<int, bool>, std::shared_ptr<const jit::dot_kernel>>
        kernels_; ///< by rows and "last panel"
    std::vector<dim_t> tap_offsets_;
};

template <typename Problem> std::string refuses_problem(const Problem &p) {
    const std::string reason = refuses_dot(p);
    if (!reason.empty())
        return reason;
    const dot_geometry g = dot_geometry_of(p);
    const bool sums = g.weights_zero_points.values.is_set() || g.weights.data_type == data_type::u8;
    if (sums && g.packed.merged > 1)
        return "weights zero points (or u8 weights) with small groups";
    const dim_t largest_stride = dim_t{1} << 26; // 28 rows stay within a 32-bit displacement
    for (const dim_t stride : {g.src_row_strides[2], g.channels * g.stride[2], g.reduction()})
        if (stride > largest_stride)
            return text("rows ", stride, " bytes apart");
    return {};
}

} // namespace

std::string refuses(const convolution_problem &p) { return refuses_problem(p); }
std::string refuses(const matmul_problem &p) { return refuses_problem(p); }

template <cpu_isa level> std::shared_ptr<const kernel> create(const convolution_problem &p) {
    return std::make_shared<dot_kernel<convolution_problem>>(p, level);
}
template <cpu_isa level> std::shared_ptr<const kernel> create(const matmul_problem &p) {
    return std::make_shared<dot_kernel<matmul_problem>>(p, level);
}

#define OCTET_INSTANTIATE(level)                                                                             \
    template std::shared_ptr<const kernel> create<cpu_isa::level>(const convolution_problem &);              \
    template std::shared_ptr<const kernel> create<cpu_isa::level>(const matmul_problem &);
OCTET_INSTANTIATE(avx512_vnni)
OCTET_INSTANTIATE(avx512_core)
OCTET_INSTANTIATE(avx_vnni)
OCTET_INSTANTIATE(avx2)
#undef OCTET_INSTANTIATE

} // namespace octet::impl::dot
