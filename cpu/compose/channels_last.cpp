#include "cpu/compose/channels_last.hpp"

#include <optional>

#include "cpu/machine/scratch.hpp"
#include "cpu/stream/drive.hpp"

namespace octet::impl::channels_last {

namespace {

class copying_kernel : public kernel {
public:
    copying_kernel(std::shared_ptr<const kernel> copy_src, std::shared_ptr<const kernel> compute,
                   std::shared_ptr<const kernel> copy_dst, const memory_desc &src, const memory_desc &dst)
        : copy_src_(std::move(copy_src)), compute_(std::move(compute)), copy_dst_(std::move(copy_dst)),
          // so that the destination behind it starts on a line of its own
          src_bytes_(copy_src_ ? (size_in_bytes(src) + line - 1) / line * line : 0),
          dst_bytes_(copy_dst_ ? size_in_bytes(dst) : 0) {}

    void execute(const arguments &args) const override {
        auto *src =
            static_cast<std::uint8_t *>(thread_scratch(scratch_slot::channels_last, src_bytes_ + dst_bytes_));
        std::uint8_t *dst = src + src_bytes_;
        if (copy_src_)
            copy_src_->execute(arguments(args, OCTET_ARG_DST, src));
        const arguments from(args, OCTET_ARG_SRC, copy_src_ ? src : args.get(OCTET_ARG_SRC));
        compute_->execute(arguments(from, OCTET_ARG_DST, copy_dst_ ? dst : args.get(OCTET_ARG_DST)));
        if (copy_dst_)
            copy_dst_->execute(arguments(args, OCTET_ARG_SRC, dst));
    }

    std::size_t size_bytes() const override {
        return sizeof *this + compute_->size_bytes() + (copy_src_ ? copy_src_->size_bytes() : 0) +
               (copy_dst_ ? copy_dst_->size_bytes() : 0);
    }

private:
    static constexpr std::size_t line = 64;
    const std::shared_ptr<const kernel> copy_src_, compute_, copy_dst_;
    const std::size_t src_bytes_, dst_bytes_; ///< of the tensors between the steps
};

} // namespace

bool is_channels_last(const memory_desc &md) { return md.strides[1] == 1 || md.dims[1] == 1; }

memory_desc channels_last_of(const memory_desc &md) {
    if (is_channels_last(md))
        return md;
    memory_desc last = md;
    last.offset0 = 0;
    last.strides[1] = 1;
    dim_t stride = last.dims[1];
    for (int d = last.ndims - 1; d >= 2; d--) {
        last.strides[d] = stride;
        stride *= last.dims[d];
    }
    last.strides[0] = stride;
    return last;
}

namespace {

/// Null: nothing to copy.
std::optional<offer> copy(const memory_desc &src, const memory_desc &dst, const machine &m) {
    if (is_channels_last(src) && is_channels_last(dst))
        return {};
    reorder_problem p;
    p.src = src;
    p.dst = p.out_stage.dst = dst;
    return stream::plan(p, m);
}

} // namespace

offer with_copies(const offer &compute, const memory_desc &src, const memory_desc &inner_src,
                  const memory_desc &inner_dst, const memory_desc &dst, const machine &m) {
    const std::optional<offer> copy_src = copy(src, inner_src, m), copy_dst = copy(inner_dst, dst, m);
    for (const offer &step : {compute, copy_src.value_or(compute), copy_dst.value_or(compute)})
        if (step.is_refused())
            return step;
    return offer([=]() -> std::shared_ptr<const kernel> {
        return std::make_shared<copying_kernel>(copy_src ? copy_src->make() : nullptr, compute.make(),
                                                copy_dst ? copy_dst->make() : nullptr, inner_src, inner_dst);
    });
}

} // namespace octet::impl::channels_last
