// Runs the reference kernel over a vector of all codes, and looks its results up.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/table.hpp"

#include <numeric>

#include "common/element.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::table {

namespace {

constexpr dim_t codes = 256;

template <typename T> bool varies(const masked_values<T> &values) {
    return values.runtime || values.mask != 0;
}

std::string refusal(const memory_desc &src, const memory_desc &dst, const zero_points &src_zero_points,
                    const epilogue &out) {
    if (memory::data_type_size(src.data_type) != 1)
        return text("src is ", memory::desc(src).to_string(), ", implemented: 8-bit codes");
    if (src.format_kind != format_kind::plain || dst.format_kind != format_kind::plain)
        return "a packed layout, implemented: plain layouts";
    if (varies(src_zero_points.values) || varies(out.dst_zero_points))
        return "zero points that vary or are given at execution, implemented: one per tensor";
    if (varies(out.output_scales) || varies(out.dst_scales) || varies(out.multipliers) ||
        varies(out.real_scales))
        return "scales or multipliers that vary or are given at execution, implemented: one per tensor";
    for (const post_op_entry &entry : out.post_ops)
        if (facts_of(entry).reads_tensors())
            return "a post-op that reads a tensor";
    return {};
}

memory_desc vector_of_codes(data_type type) {
    memory_desc md;
    md.ndims = 1;
    md.dims[0] = codes;
    md.strides[0] = 1;
    md.data_type = type;
    md.format_kind = format_kind::plain;
    return md;
}

/// The reference kernel, run on a tensor of all codes in ascending order.
template <typename Problem> std::vector<std::uint8_t> tabulate(Problem p) {
    const bool is_signed = p.src.data_type == data_type::s8;
    p.src = vector_of_codes(p.src.data_type);
    p.dst = p.out_stage.dst = vector_of_codes(p.dst.data_type);
    std::vector<std::uint8_t> src(codes), dst(codes * memory::data_type_size(p.dst.data_type));
    std::iota(src.begin(), src.end(), static_cast<std::uint8_t>(is_signed ? 128 : 0));
    const engine cpu(engine::kind::cpu, 0);
    const std::unordered_map<int, memory> args{{OCTET_ARG_SRC, memory(memory::desc(p.src), cpu, src.data())},
                                               {OCTET_ARG_DST, memory(memory::desc(p.dst), cpu, dst.data())}};
    ref::create(p)->execute(arguments(args));
    return dst;
}

/// Innermost dimension of dst that is longer than 1: the loop that lookups run along.
int innermost(const memory_desc &dst) {
    int best = 0;
    for (int d = 1; d < dst.ndims; d++)
        if (dst.dims[d] > 1 && (dst.dims[best] <= 1 || dst.strides[d] < dst.strides[best]))
            best = d;
    return best;
}

class table_kernel : public kernel {
public:
    table_kernel(const memory_desc &src, const memory_desc &dst, std::vector<std::uint8_t> entries)
        : src_(src), dst_(dst), rows_(dst), inner_(innermost(dst)), entries_(std::move(entries)) {
        rows_.dims[inner_] = 1;
    }

    void execute(const arguments &args) const override {
        const auto *src = args.get<const std::uint8_t>(OCTET_ARG_SRC);
        switch (memory::data_type_size(dst_.data_type)) {
        case 1:
            return look_up(src, args.get<std::uint8_t>(OCTET_ARG_DST));
        case 2:
            return look_up(src, args.get<std::uint16_t>(OCTET_ARG_DST));
        default:
            return look_up(src, args.get<std::uint32_t>(OCTET_ARG_DST));
        }
    }
    std::size_t size_bytes() const override { return sizeof *this + entries_.size(); }
    std::string plan() const override { return "a table of the results of all codes, one element at a time"; }

private:
    template <typename Entry> void look_up(const std::uint8_t *src, Entry *dst) const {
        const auto *entries = reinterpret_cast<const Entry *>(entries_.data());
        const std::uint8_t flip = src_.data_type == data_type::s8 ? 128 : 0; // entry 0 is the lowest code
        const dim_t n = dst_.dims[inner_], from = src_.strides[inner_], to = dst_.strides[inner_];
        parallel_for(element_count(rows_), div_up(4096, std::max<dim_t>(n, 1)), [&](dim_t begin, dim_t end) {
            coordinates at = coordinates_of(begin, rows_);
            for (dim_t row = begin; row < end; row++, advance(at, rows_)) {
                const std::uint8_t *x = src + plain_offset(src_, at);
                Entry *y = dst + plain_offset(dst_, at);
                for (dim_t i = 0; i < n; i++)
                    y[i * to] = entries[x[i * from] ^ flip];
            }
        });
    }

    const memory_desc src_, dst_;
    memory_desc rows_; ///< dst with its innermost dimension at 1
    const int inner_;
    const std::vector<std::uint8_t> entries_;
};

} // namespace

std::string refuses(const eltwise_problem &p) {
    return refusal(p.src, p.dst, p.src_zero_points, p.out_stage);
}
std::string refuses(const reorder_problem &p) {
    if (varies(p.src_scales) || varies(p.dst_scales))
        return "scales that vary or are given at execution, implemented: one per tensor";
    return refusal(p.src, p.dst, p.src_zero_points, p.out_stage);
}

std::vector<std::uint8_t> entries_of(const eltwise_problem &p) { return tabulate(p); }
std::vector<std::uint8_t> entries_of(const reorder_problem &p) { return tabulate(p); }

namespace {

template <typename Problem> candidate plan_problem(const Problem &p) {
    const std::string reason = refuses(p);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([p] { return std::make_shared<table_kernel>(p.src, p.dst, entries_of(p)); });
}

} // namespace

candidate plan(const eltwise_problem &p, const machine &) { return plan_problem(p); }
candidate plan(const reorder_problem &p, const machine &) { return plan_problem(p); }

} // namespace octet::impl::table
