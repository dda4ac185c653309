// Finds the rows of contiguous bytes that both tensors share, and runs one generated kernel on ranges of them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/bytes.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "cpu/machine/caches.hpp"
#include "cpu/stream/nest.hpp"
#include "jit/kernels/byte_table.hpp"

namespace octet::impl::stream {

namespace {

constexpr dim_t bytes_per_block = 4096;    // rows are cut here, so that vectors stay aligned as the tensor is
constexpr dim_t bytes_worth_a_call = 1024; // from here on a call of memmove pays

/// Source and destination of one execution, in bytes.
struct buffers {
    const std::uint8_t *src;
    std::uint8_t *dst;
};

class unary_kernel : public kernel {
public:
    unary_kernel(const memory_desc &src, const memory_desc &dst)
        : element_bytes_(static_cast<dim_t>(memory::data_type_size(dst.data_type))),
          src_offset_(src.offset0 * element_bytes_), dst_offset_(dst.offset0 * element_bytes_),
          nest_(make_nest(dst, {strides_of(dst), strides_of(src)})) {}

protected:
    /// body(buffers of a piece's first element, rows, bytes per row, bytes between rows of src and dst)
    template <typename Body> void run(const arguments &args, const Body &body) const {
        const buffers whole{args.get<const std::uint8_t>(OCTET_ARG_SRC) + src_offset_,
                            args.get<std::uint8_t>(OCTET_ARG_DST) + dst_offset_};
        const nest::loop rows = nest_.loops.size() > 1 ? nest_.loops[1] : nest::loop{};
        for_each_piece(nest_, bytes_per_block, all_rows, [&](const piece &p) {
            body(
                buffers{whole.src + p.offsets[1] * element_bytes_, whole.dst + p.offsets[0] * element_bytes_},
                p.rows, p.columns * element_bytes_, rows.strides[1] * element_bytes_,
                rows.strides[0] * element_bytes_);
        });
    }

private:
    const dim_t element_bytes_, src_offset_, dst_offset_;
    const nest nest_;
};

/// Generated code, also for what leaves the caches.
class byte_code {
public:
    byte_code(instruction_set isa, bool looks_up, bool leaves_caches)
        : regular_(jit::byte_table_code(jit::byte_table_spec{isa, looks_up, false})),
          nontemporal_(leaves_caches ? jit::byte_table_code(jit::byte_table_spec{isa, looks_up, true})
                                     : nullptr) {}

    bool is_nontemporal(const jit::byte_table_args &a) const {
        return nontemporal_ && begins_line(a.dst) && (a.rows == 1 || has_whole_lines(a.dst_step));
    }
    void operator()(const jit::byte_table_args &a) const {
        (is_nontemporal(a) ? nontemporal_ : regular_)->function()(&a);
    }
    std::size_t code_bytes() const { return regular_->code_bytes(); }

private:
    const jit::shared_code<const jit::byte_table_args> regular_, nontemporal_; ///< nontemporal may be null
};

class copy_kernel : public unary_kernel {
public:
    copy_kernel(instruction_set isa, const memory_desc &src, const memory_desc &dst)
        : unary_kernel(src, dst), code_(isa, false, leaves_caches(size_in_bytes(src) + size_in_bytes(dst))) {}

    void execute(const arguments &args) const override {
        run(args, [this](buffers at, dim_t rows, dim_t bytes, dim_t src_step, dim_t dst_step) {
            const jit::byte_table_args a{at.src, at.dst, nullptr, rows, bytes, src_step, dst_step};
            if (bytes < bytes_worth_a_call || (rows > 1 && code_.is_nontemporal(a)))
                return code_(a);
            for (dim_t row = 0; row < rows; row++)
                std::memmove(at.dst + row * dst_step, at.src + row * src_step,
                             static_cast<std::size_t>(bytes));
        });
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override { return "copies bytes"; }

private:
    const byte_code code_; ///< for short rows, and for many that memmove wouldn't store past the caches
};

class table_kernel : public unary_kernel {
public:
    table_kernel(instruction_set isa, const memory_desc &src, const memory_desc &dst,
                 const std::uint8_t *entries_of_bytes)
        : unary_kernel(src, dst), table_(entries_of_bytes),
          code_(isa, true, leaves_caches(size_in_bytes(src) + size_in_bytes(dst))) {}

    void execute(const arguments &args) const override {
        run(args, [this](buffers at, dim_t rows, dim_t bytes, dim_t src_step, dim_t dst_step) {
            const jit::byte_table_args a{at.src, at.dst, &table_, rows, bytes, src_step, dst_step};
            code_(a);
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + code_.code_bytes(); }
    std::string plan() const override { return "a table of the results of all codes"; }

private:
    const jit::byte_table table_;
    const byte_code code_;
};

} // namespace

namespace {

/// Empty, or why bytes of the two can't be streamed.
std::string refuses_layouts(const memory_desc &src, const memory_desc &dst) {
    if (src.format_kind != format_kind::plain || dst.format_kind != format_kind::plain)
        return "a packed layout";
    if (element_count(dst) == 0)
        return "an empty tensor";
    const nest n = make_nest(dst, {strides_of(dst), strides_of(src)});
    if (n.columns().strides[0] != 1 || n.columns().strides[1] != 1)
        return "layouts whose innermost dimensions differ";
    return {};
}

/// Entries by byte; table entry 0 belongs to the lowest code.
std::array<std::uint8_t, 256> of_bytes(const memory_desc &src, const std::vector<std::uint8_t> &entries) {
    std::array<std::uint8_t, 256> bytes;
    const std::size_t flip = src.data_type == data_type::s8 ? 128 : 0;
    for (std::size_t byte = 0; byte < bytes.size(); byte++)
        bytes[byte] = entries[byte ^ flip];
    return bytes;
}

} // namespace

bool is_identity(const memory_desc &src, const std::vector<std::uint8_t> &entries) {
    const std::array<std::uint8_t, 256> bytes = of_bytes(src, entries);
    for (std::size_t byte = 0; byte < bytes.size(); byte++)
        if (bytes[byte] != byte)
            return false;
    return true;
}

candidate plan_copy(instruction_set isa, const memory_desc &src, const memory_desc &dst) {
    const std::string reason = refuses_layouts(src, dst);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([=] { return std::make_shared<copy_kernel>(isa, src, dst); });
}

candidate plan_table(instruction_set isa, const memory_desc &src, const memory_desc &dst,
                     std::function<std::vector<std::uint8_t>()> entries) {
    const candidate copy = plan_copy(isa, src, dst);
    if (copy.is_refused())
        return copy;
    return candidate([=]() -> std::shared_ptr<const kernel> {
        const std::vector<std::uint8_t> table = entries();
        if (is_identity(src, table))
            return copy.make();
        return std::make_shared<table_kernel>(isa, src, dst, of_bytes(src, table).data());
    });
}

} // namespace octet::impl::stream
