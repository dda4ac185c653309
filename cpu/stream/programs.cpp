// Makes parameter vectors and kernels of a task, and walks its nest of loops: one call for each row or run of rows.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/programs.hpp"

#include <algorithm>
#include <limits>

#include "common/text.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/stream/nest.hpp"
#include "jit/kernels/stream.hpp"

namespace octet::impl::stream {

namespace {

constexpr dim_t columns_per_piece = 4096;  // a long row is cut here; a multiple of the groups of all levels
constexpr dim_t least_past_caches = 16384; // bytes of a piece: each waits for its stores at its end
/// Largest parameter vector: 16 MiB, or 16 times that if each row has one.
constexpr dim_t most_numbers = dim_t{1} << 22;

dim_t element_bytes(data_type type) { return static_cast<dim_t>(memory::data_type_size(type)); }

/// Bytes of all tensors of a task.
std::size_t size_in_bytes(const task &t) {
    std::size_t bytes = impl::size_in_bytes(t.dst);
    for (const memory_desc &src : t.srcs)
        bytes += impl::size_in_bytes(src);
    return bytes;
}

} // namespace

namespace {

/// The innermost dimension of dst; -1: it has one element.
int row_dim_of(const memory_desc &dst) {
    int row = -1;
    for (int d = 0; d < dst.ndims; d++)
        if (dst.dims[d] != 1 && (row < 0 || dst.strides[d] < dst.strides[row]))
            row = d;
    return row;
}

} // namespace

variation variation_of(const task &t) {
    int dims = jit::epilogue_plan::varying_dims(t.out, row_dim_of(t.dst));
    for (const param_vector &p : t.program_params)
        dims |= p.mask;
    variation v;
    for (int d = 0; d < t.dst.ndims; d++) {
        if ((dims & (1 << d)) == 0 || t.dst.dims[d] == 1)
            continue;
        v.outer_dims |= 1 << d;
        if (v.channel < 0 || t.dst.strides[d] < t.dst.strides[v.channel])
            v.channel = d;
    }
    if (v.channel >= 0)
        v.outer_dims &= ~(1 << v.channel);
    return v;
}

namespace {

dim_t channels_of(const task &t, const variation &v) { return v.channel < 0 ? 1 : t.dst.dims[v.channel]; }

jit::epilogue_shape shape_of(const task &t, const variation &v) {
    jit::epilogue_shape shape{v.channel, channels_of(t, v), t.largest_value};
    shape.outer_dims = v.outer_dims;
    shape.row_dim = row_dim_of(t.dst);
    return shape;
}

/// Channels of one index of the outer dimensions: whole blocks.
dim_t padded_channels(const task &t, const variation &v) {
    return div_up(channels_of(t, v), jit::columns_per_block) * jit::columns_per_block;
}

/// Tensors that post-ops read row by row.
std::vector<memory_desc> row_tensors_of(const task &t, const jit::epilogue_plan &epilogue) {
    std::vector<memory_desc> tensors;
    for (int i = 0; i < static_cast<int>(t.out.post_ops.size()); i++)
        if (epilogue.reads_row_tensor(i))
            tensors.push_back(*src1_of(t.out.post_ops[static_cast<std::size_t>(i)]));
    return tensors;
}

/// Operands: dst, the sources, the channel among those of all outer indices, and tensors read row by row.
nest nest_of(const task &t, const variation &v, const jit::epilogue_plan &epilogue) {
    std::vector<operand_strides> operands{strides_of(t.dst)};
    for (const memory_desc &src : t.srcs)
        operands.push_back(strides_of(src));
    operands.emplace_back();
    dim_t stride = padded_channels(t, v);
    for (int d = t.dst.ndims - 1; d >= 0; d--)
        if (v.outer_dims & (1 << d)) {
            operands.back()[static_cast<std::size_t>(d)] = stride;
            stride *= t.dst.dims[d];
        }
    if (v.channel >= 0)
        operands.back()[static_cast<std::size_t>(v.channel)] = 1;
    for (const memory_desc &tensor : row_tensors_of(t, epilogue))
        operands.push_back(strides_of(tensor));
    return make_nest(t.dst, operands);
}

/// Sources and program of a task's kernel.
jit::stream_spec spec_of(instruction_set isa, const task &t, const nest &n) {
    jit::stream_spec spec;
    spec.isa = isa;
    for (std::size_t i = 0; i < t.srcs.size(); i++)
        spec.sources.push_back({t.srcs[i].data_type, n.columns().strides[i + 1] == 0});
    spec.program = t.program;
    spec.value = t.value;
    return spec;
}

class program_kernel : public kernel {
public:
    program_kernel(instruction_set isa, const task &t)
        : task_(t), varies_(variation_of(t)), outer_count_(masked_count(varies_.outer_dims, t.dst)),
          epilogue_(task_.out, shape_of(t, varies_), false), nest_(nest_of(t, varies_, epilogue_)),
          code_(make_code(isa, false)),
          past_caches_(leaves_caches(size_in_bytes(t)) ? make_code(isa, true) : nullptr),
          program_params_are_runtime_(std::any_of(t.program_params.begin(), t.program_params.end(),
                                                  [](const param_vector &p) { return p.is_runtime; })) {
        const std::unordered_map<int, memory> none;
        program_params_.resize(static_cast<std::size_t>(outer_count_ * blocks() * program_param_words()));
        params_.resize(static_cast<std::size_t>(outer_count_ * blocks() * param_words()));
        if (!program_params_are_runtime_)
            fill_program_params(arguments(none), program_params_.data());
        fill_params([this](dim_t first, dim_t count, std::uint32_t *to,
                           const coordinates &outer) { epilogue_.fill_constants(first, count, to, outer); },
                    params_.data());
    }

    void execute(const arguments &args) const override {
        execution run{};
        for (std::size_t i = 0; i < task_.srcs.size(); i++)
            run.src[i] = (task_.src_values[i].empty()
                              ? args.get<const std::uint8_t>(task_.src_args[i])
                              : reinterpret_cast<const std::uint8_t *>(task_.src_values[i].data())) +
                         task_.srcs[i].offset0 * element_bytes(task_.srcs[i].data_type);
        run.dst = args.get<std::uint8_t>(OCTET_ARG_DST);
        for (std::size_t i = 0; i < task_.out.post_ops.size(); i++)
            if (epilogue_.reads_full_tensor(static_cast<int>(i)) ||
                epilogue_.reads_row_tensor(static_cast<int>(i)))
                run.full[i] = args.get<const std::uint8_t>(
                    OCTET_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | OCTET_ARG_SRC_1);
        bind_numbers(args, run);
        bool differs_by_row = nest_.loops.size() > 1 && nest_.loops[1].strides[channel_operand()] != 0;
        for (std::size_t i = 0; i < task_.out.post_ops.size(); i++)
            differs_by_row = differs_by_row || epilogue_.reads_row_tensor(static_cast<int>(i));
        for_each_piece(nest_, columns_per_piece, differs_by_row ? 1 : all_rows,
                       [&](const piece &p) { run_piece(run, p); });
    }

    std::size_t size_bytes() const override {
        return sizeof *this +
               (program_params_.size() + params_.size() + task_.table.size()) * sizeof program_params_[0] +
               code_->code_bytes();
    }

    std::string plan() const override {
        return text("a program of ", task_.program.size(), " steps, ", group_, " elements at a time",
                    past_caches_ ? ", stores past the caches" : "");
    }

private:
    struct execution {
        const std::uint8_t *src[jit::max_stream_sources];
        std::uint8_t *dst;
        const std::uint8_t *full[max_post_ops]; ///< tensors of dst's layout that post-ops read
        const std::uint32_t *program_params, *params;
    };

    std::size_t channel_operand() const { return task_.srcs.size() + 1; }
    bool varies_in_row() const { return nest_.columns().strides[channel_operand()] != 0; }
    dim_t channels() const { return epilogue_.shape().channels; }
    /// Blocks of 16 columns, or one of equal numbers for each channel.
    dim_t blocks() const {
        if (outer_count_ > 1) // so many for each of the outer indices
            return varies_in_row() ? padded_channels(task_, varies_) / jit::columns_per_block
                                   : padded_channels(task_, varies_);
        return varies_in_row() ? div_up(channels(), jit::columns_per_block) : channels();
    }
    dim_t program_param_words() const {
        return static_cast<dim_t>(task_.program_params.size()) * jit::columns_per_block;
    }
    dim_t param_words() const { return dim_t{epilogue_.params().count} * jit::columns_per_block; }
    dim_t group() const { return group_; }

    jit::shared_code<const jit::stream_args> make_code(instruction_set isa, bool stores_past_caches) {
        jit::stream_spec spec = spec_of(isa, task_, nest_);
        spec.program_params = static_cast<int>(task_.program_params.size());
        spec.varies_in_row = varies_in_row();
        spec.vectors = jit::stream_vectors(spec, epilogue_);
        group_ = dim_t{spec.vectors} * isa.lanes();
        spec.rest = static_cast<int>(nest_.columns().size % group_);
        spec.stores_past_caches = stores_past_caches;
        return jit::stream_code(spec, epilogue_);
    }

    /// One of the outer indices, in the order of the channel operand.
    coordinates outer_at(dim_t index) const {
        coordinates at{};
        for (int d = task_.dst.ndims - 1; d >= 0; d--)
            if (varies_.outer_dims & (1 << d)) {
                at[static_cast<std::size_t>(d)] = index % task_.dst.dims[d];
                index /= task_.dst.dims[d];
            }
        return at;
    }

    /// fill(first channel, count, blocks, outer), for all channels at once or one by one.
    template <typename Fill> void fill_params(const Fill &fill, std::uint32_t *to) const {
        for (dim_t i = 0; i < outer_count_; i++, to += blocks() * param_words()) {
            const coordinates outer = outer_at(i);
            if (varies_in_row())
                fill(0, channels(), to, outer);
            else
                for (dim_t c = 0; c < channels(); c++)
                    fill(c, 1, to + c * param_words(), outer);
        }
    }

    void fill_program_params(const arguments &args, std::uint32_t *to) const {
        for (dim_t i = 0; i < outer_count_; i++) {
            coordinates at = outer_at(i);
            for (dim_t block = 0; block < blocks(); block++)
                for (const param_vector &p : task_.program_params)
                    for (int lane = 0; lane < jit::columns_per_block; lane++) {
                        const dim_t c = varies_in_row() ? block * jit::columns_per_block + lane : block;
                        if (varies_.channel >= 0)
                            at[static_cast<std::size_t>(varies_.channel)] = std::min(c, channels() - 1);
                        *to++ = p.word(args, at, lane);
                    }
        }
    }

    /// Parameter vectors of the program and of the epilogue in this execution.
    void bind_numbers(const arguments &args, execution &run) const {
        run.program_params = program_params_.data();
        run.params = params_.data();
        const bool params_are_runtime = epilogue_.has_argument_params();
        if (!program_params_are_runtime_ && !params_are_runtime)
            return;
        auto *program_params = static_cast<std::uint32_t *>(thread_scratch(
            scratch_slot::column_params, (program_params_.size() + params_.size()) * sizeof(std::uint32_t)));
        std::uint32_t *params = program_params + program_params_.size();
        if (program_params_are_runtime_) {
            fill_program_params(args, program_params);
            run.program_params = program_params;
        }
        if (params_are_runtime) {
            std::copy(params_.begin(), params_.end(), params);
            fill_params(
                [&](dim_t first, dim_t count, std::uint32_t *to, const coordinates &outer) {
                    epilogue_.fill_arguments(args, first, count, to, outer);
                },
                params);
            run.params = params;
        }
    }

    void run_piece(const execution &run, const piece &p) const {
        const nest::loop rows = nest_.loops.size() > 1 ? nest_.loops[1] : nest::loop{};
        const nest::loop &columns = nest_.columns();
        jit::stream_args a{};
        for (std::size_t i = 0; i < task_.srcs.size(); i++) {
            const dim_t size = element_bytes(task_.srcs[i].data_type);
            a.src[i] = run.src[i] + p.offsets[i + 1] * size;
            a.src_step[i] = (rows.strides[i + 1] - p.columns * columns.strides[i + 1]) * size;
        }
        const dim_t dst_element = task_.dst.offset0 + p.offsets[0];
        a.dst = run.dst + dst_element * element_bytes(task_.dst.data_type);
        a.dst_step = rows.strides[0] - p.columns;
        const void *full[max_post_ops];
        std::size_t row_tensor = channel_operand() + 1;
        for (std::size_t i = 0; i < task_.out.post_ops.size(); i++)
            if (const memory_desc *src1 = src1_of(task_.out.post_ops[i])) {
                const dim_t element = epilogue_.reads_row_tensor(static_cast<int>(i))
                                          ? src1->offset0 + p.offsets[row_tensor++]
                                          : dst_element;
                full[i] = run.full[i] ? run.full[i] + element * element_bytes(src1->data_type) : nullptr;
            }
        a.full = full;
        a.table = task_.table.data();
        const dim_t block =
            p.offsets[channel_operand()] / (varies_in_row() ? dim_t{jit::columns_per_block} : dim_t{1});
        a.program_params = run.program_params + block * program_param_words();
        a.params = run.params + block * param_words();
        a.rows = p.rows;
        a.groups = p.columns / group();
        a.has_rest = p.columns % group() != 0;
        (may_store_past_caches(a, p) ? past_caches_ : code_)->function()(&a);
    }

    /// Whole lines, not few of them, which nothing has read.
    bool may_store_past_caches(const jit::stream_args &a, const piece &p) const {
        const dim_t size = element_bytes(task_.dst.data_type);
        return past_caches_ && p.rows * p.columns * size >= least_past_caches && begins_line(a.dst) &&
               (p.rows == 1 || has_whole_lines((p.columns + a.dst_step) * size)) &&
               std::none_of(a.src, a.src + task_.srcs.size(), [&](const void *src) { return src == a.dst; });
    }

    const task task_;
    const variation varies_;
    const dim_t outer_count_; ///< indices of the outer dimensions
    const jit::epilogue_plan epilogue_;
    const nest nest_;
    dim_t group_ = 0; ///< columns that the kernel finishes at a time
    const jit::shared_code<const jit::stream_args> code_, past_caches_; ///< past_caches_ may be null
    const bool program_params_are_runtime_;
    std::vector<std::uint32_t> program_params_, params_; ///< numbers known at creation
};

/// Empty, or why the instruction set can't run the task.
std::string refuses_task(instruction_set isa, const task &t) {
    if (!t.refusal.empty())
        return t.refusal;
    if (t.dst.format_kind != format_kind::plain)
        return "a packed layout";
    if (element_count(t.dst) == 0)
        return "an empty tensor";
    const variation v = variation_of(t);
    if (masked_count(v.outer_dims, t.dst) > most_numbers / padded_channels(t, v))
        return "numbers that differ from element to element of a large tensor";
    const std::string reason = jit::epilogue_plan::refuses(t.out, shape_of(t, v));
    if (!reason.empty())
        return reason;
    const jit::epilogue_plan plan(t.out, shape_of(t, v), false);
    if (t.srcs.size() + 2 + row_tensors_of(t, plan).size() > max_operands)
        return "more tensors than loops have";
    const nest n = nest_of(t, v, plan);
    const operand_offsets &strides = n.columns().strides;
    for (std::size_t i = 0; i <= t.srcs.size(); i++)
        if (strides[i] != 1 && (i == 0 || strides[i] != 0))
            return "layouts whose innermost dimensions differ";
    if (jit::stream_vectors(spec_of(isa, t, n), plan) == 0)
        return "functions that need more vector registers";
    return {};
}

} // namespace

candidate plan_task(instruction_set isa, const task &t) {
    const std::string reason = refuses_task(isa, t);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([=] { return std::make_shared<program_kernel>(isa, t); });
}

} // namespace octet::impl::stream
