// A copy to channels-last is a reorder of its own; `with_copies` runs copies of sources, the computation, and
// the copy of the result one after the other, in scratch memory of the thread.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/channels_last.hpp"

#include "common/rules.hpp"
#include "common/text.hpp"
#include "cpu/stream/drive.hpp"

namespace octet::impl::channels_last {

bool is_channels_last(const memory_desc &md, int channel_dim) {
    return md.strides[channel_dim] == 1 || md.dims[channel_dim] == 1;
}

memory_desc channels_last_of(const memory_desc &md, int channel_dim) {
    if (is_channels_last(md, channel_dim))
        return md;
    memory_desc last = md;
    last.offset0 = 0;
    last.strides[channel_dim] = 1;
    dim_t stride = last.dims[channel_dim];
    for (int d = last.ndims - 1; d >= 0; d--)
        if (d != channel_dim) {
            last.strides[d] = stride;
            stride *= last.dims[d];
        }
    return last;
}

namespace {

bool is_same_layout(const memory_desc &a, const memory_desc &b) {
    for (int d = 0; d < a.ndims; d++)
        if (a.dims[d] != 1 && a.strides[d] != b.strides[d])
            return false;
    return a.offset0 == b.offset0;
}

} // namespace

std::vector<copy> copies_of(epilogue &out, int channel_dim) {
    std::vector<copy> copies;
    const memory_desc dst = channels_last_of(out.dst, channel_dim);
    if (!is_channels_last(out.dst, channel_dim))
        copies.push_back({OCTET_ARG_DST, out.dst, dst, reads_dst(out), true});
    out.dst = dst;
    for (int i = 0; i < static_cast<int>(out.post_ops.size()); i++) {
        post_op_entry &entry = out.post_ops[static_cast<std::size_t>(i)];
        memory_desc *src1 = src1_of(entry);
        if (!src1 || !same_dims(*src1, dst) || is_same_layout(*src1, dst))
            continue;
        memory_desc inside = dst;
        inside.data_type = src1->data_type;
        copies.push_back({operand_of(entry, i), *src1, inside, true, false});
        *src1 = inside;
    }
    return copies;
}

namespace {

struct copied_argument {
    int arg;
    std::size_t offset;                        ///< start of the copy in scratch
    std::shared_ptr<const kernel> read, write; ///< null: not copied in this direction
};

class copying_kernel : public kernel {
public:
    copying_kernel(std::shared_ptr<const kernel> compute, std::vector<copied_argument> copied,
                   scratch_slot slot, std::size_t scratch_bytes)
        : compute_(std::move(compute)), copied_(std::move(copied)), slot_(slot),
          scratch_bytes_(scratch_bytes) {}

    void execute(const arguments &args) const override {
        run(args, copied_.begin(), static_cast<std::uint8_t *>(thread_scratch(slot_, scratch_bytes_)));
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + compute_->size_bytes();
        for (const copied_argument &c : copied_)
            bytes += sizeof c + (c.read ? c.read->size_bytes() : 0) + (c.write ? c.write->size_bytes() : 0);
        return bytes;
    }

    std::string plan() const override {
        std::string plans = compute_->plan();
        for (const copied_argument &c : copied_)
            plans += text("; ", argument_to_string(c.arg), " copied to and from another layout or type");
        return plans;
    }

private:
    using iterator = std::vector<copied_argument>::const_iterator;

    static void move(const kernel &reorder, const arguments &args, void *from, void *to) {
        const arguments source(args, OCTET_ARG_SRC, from);
        reorder.execute(arguments(source, OCTET_ARG_DST, to));
    }

    /// The computation inside of the copies from `next` on.
    void run(const arguments &args, iterator next, std::uint8_t *scratch) const {
        if (next == copied_.end())
            return compute_->execute(args);
        std::uint8_t *inside = scratch + next->offset;
        if (next->read)
            move(*next->read, args, args.get(next->arg), inside);
        run(arguments(args, next->arg, inside), next + 1, scratch);
        if (next->write)
            move(*next->write, args, inside, args.get(next->arg));
    }

    const std::shared_ptr<const kernel> compute_;
    const std::vector<copied_argument> copied_;
    const scratch_slot slot_;
    const std::size_t scratch_bytes_;
};

candidate plan_copy(const memory_desc &src, const memory_desc &dst, const machine &m) {
    reorder_problem p;
    p.src = src;
    p.dst = p.out_stage.dst = dst;
    if (src.data_type != dst.data_type)
        p.out_stage.rule = unchanged(true);
    return stream::plan(p, m);
}

} // namespace

candidate with_copies(const candidate &compute, const std::vector<copy> &copies, const machine &m,
                      scratch_slot slot) {
    if (compute.is_refused())
        return compute;
    constexpr std::size_t line = 64; // so that each copy starts on a line of its own
    std::vector<std::pair<candidate, candidate>> reorders;
    for (const copy &c : copies) {
        reorders.emplace_back(plan_copy(c.outside, c.inside, m), plan_copy(c.inside, c.outside, m));
        if (c.before && reorders.back().first.is_refused())
            return reorders.back().first;
        if (c.after && reorders.back().second.is_refused())
            return reorders.back().second;
    }
    return candidate([=]() -> std::shared_ptr<const kernel> {
        std::vector<copied_argument> copied;
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < copies.size(); i++) {
            copied.push_back({copies[i].arg, bytes, copies[i].before ? reorders[i].first.make() : nullptr,
                              copies[i].after ? reorders[i].second.make() : nullptr});
            bytes += (size_in_bytes(copies[i].inside) + line - 1) / line * line;
        }
        return std::make_shared<copying_kernel>(compute.make(), std::move(copied), slot, bytes);
    });
}

} // namespace octet::impl::channels_last
