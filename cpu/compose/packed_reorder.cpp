// Packing alone where values only move; otherwise a reorder to or from a row-major copy, and packing as a second step.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/packed_reorder.hpp"

#include "common/layout/layout.hpp"
#include "cpu/stream/drive.hpp"
#include "cpu/two_steps.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl::packed_reorder {

namespace {

bool is_packed(const memory_desc &md) { return md.format_kind == format_kind::packed; }

class packing_kernel : public kernel {
public:
    packing_kernel(const memory_desc &src, const memory_desc &dst, instruction_set isa)
        : src_(src), dst_(dst), isa_(isa) {}

    void execute(const arguments &args) const override {
        const void *src = args.get<const void>(OCTET_ARG_SRC);
        void *dst = args.get(OCTET_ARG_DST);
        if (is_packed(dst_))
            pack_weights(src_, src, dst_, dst, isa_);
        else
            unpack_weights(src_, src, dst_, dst);
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override { return is_packed(dst_) ? "packs weights" : "unpacks weights"; }

private:
    const memory_desc src_, dst_;
    const instruction_set isa_;
};

candidate packing(const memory_desc &src, const memory_desc &dst, const machine &m) {
    return candidate([=, isa = m.isa] { return std::make_shared<packing_kernel>(src, dst, isa); });
}

} // namespace

candidate plan(const reorder_problem &p, const machine &m) {
    if (is_packed(p.src) == is_packed(p.dst))
        return candidate::refused(is_packed(p.src) ? "packed weights on both sides" : "no packed weights");
    if (stream::only_moves(p))
        return packing(p.src, p.dst, m);
    reorder_problem plain = p;
    memory_desc &between = is_packed(p.src) ? plain.src : plain.dst;
    set_row_major(between);
    plain.out_stage.dst = plain.dst;
    constexpr auto slot = scratch_slot::plain_weights; // plain reorders may have two steps
    if (is_packed(p.src))
        return in_two_steps(between, packing(p.src, between, m), stream::plan(plain, m), slot);
    if (reads_dst(p.out_stage))
        return candidate::refused("a sum into packed weights");
    return in_two_steps(between, stream::plan(plain, m), packing(between, p.dst, m), slot);
}

} // namespace octet::impl::packed_reorder
