// Cuts a tensor from its outermost dimension inwards until a block fits a cache, and runs one kernel for
// whole blocks and one for the rest.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/blocks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/layout/layout.hpp"
#include "common/text.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/stream/transpose.hpp"
#include "octet/settings.hpp"

namespace octet::impl::stream {

namespace {

constexpr dim_t long_run = dim_t{1} << 15; // bytes of src that prefetchers make the most of

dim_t element_bytes(const memory_desc &md) {
    return static_cast<dim_t>(memory::data_type_size(md.data_type));
}

bool is_contiguous(const memory_desc &md, int dimension) {
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] != 1 && md.strides[d] < md.strides[dimension])
            return false;
    return true;
}

/// All but the innermost, outermost first.
std::vector<int> outer_dimensions(const memory_desc &src) {
    std::vector<int> outer;
    for (int d = 0; d < src.ndims; d++)
        if (src.dims[d] != 1 && !is_contiguous(src, d))
            outer.push_back(d);
    std::stable_sort(outer.begin(), outer.end(),
                     [&](int a, int b) { return src.strides[a] > src.strides[b]; });
    return outer;
}

/// Indices of a dimension after which dst is at a cache line again.
dim_t indices_of_lines(const memory_desc &dst, int dimension) {
    return cache_line_bytes / std::gcd(cache_line_bytes, dst.strides[dimension] * element_bytes(dst));
}

/// About `most` of `size` in blocks of about equal size, multiples of `step`; a rest isn't much less than
/// one.
dim_t block_size(dim_t size, dim_t most, dim_t step) {
    const dim_t even = div_up(size, div_up(size, std::max(most, dim_t{1})));
    dim_t block = std::max(even / step, dim_t{1}) * step;
    while (block < size && size % block != 0 && 4 * (size % block) < step)
        block += step;
    return std::min(size, block);
}

class blocks_kernel : public kernel {
public:
    blocks_kernel(const partition &p, const memory_desc &src, const memory_desc &dst,
                  std::shared_ptr<const kernel> whole, std::shared_ptr<const kernel> rest)
        : partition_(p), src_(src), dst_(dst), whole_(std::move(whole)), rest_(std::move(rest)) {}

    void execute(const arguments &args) const override {
        if (partition_.count() < get_num_threads()) // then a block is for all threads
            return run(args, 0, partition_.count());
        parallel_for(partition_.count(), 1, [&](dim_t begin, dim_t end) {
            const sequential_scope within_this_thread;
            run(args, begin, end);
        });
    }
    std::size_t size_bytes() const override {
        return sizeof *this + whole_->size_bytes() + (rest_ ? rest_->size_bytes() : 0);
    }
    std::string plan() const override { return text(partition_.count(), " blocks: ", whole_->plan()); }

private:
    struct block_pointers {
        std::uint8_t *src, *dst;
        bool is_rest;
    };

    void run(const arguments &args, dim_t begin, dim_t end) const {
        block_pointers at = pointers_of(begin, args);
        for (dim_t block = begin; block < end; block++) {
            const block_pointers next = block + 1 < end ? pointers_of(block + 1, args) : at;
            const arguments ahead(args, prefetched_arg, next.src), from(ahead, OCTET_ARG_SRC, at.src);
            (at.is_rest ? rest_ : whole_)->execute(arguments(from, OCTET_ARG_DST, at.dst));
            at = next;
        }
    }

    block_pointers pointers_of(dim_t block, const arguments &args) const {
        block_pointers at{args.get<std::uint8_t>(OCTET_ARG_SRC), args.get<std::uint8_t>(OCTET_ARG_DST),
                          false};
        for (int d = partition_.ndims - 1; d >= 0; d--) {
            const dim_t size = partition_.block[d], blocks = div_up(partition_.dims[d], size);
            const dim_t first = block % blocks * size;
            block /= blocks;
            at.src += first * src_.strides[d] * element_bytes(src_);
            at.dst += first * dst_.strides[d] * element_bytes(dst_);
            at.is_rest = at.is_rest || first + size > partition_.dims[d];
        }
        return at;
    }

    const partition partition_;
    const memory_desc src_, dst_;
    const std::shared_ptr<const kernel> whole_, rest_;
};

} // namespace

dim_t partition::count() const {
    dim_t blocks = 1;
    for (int d = 0; d < ndims; d++)
        blocks *= div_up(dims[d], block[d]);
    return blocks;
}

memory_desc partition::part_of(memory_desc md, bool is_rest) const {
    std::copy(block, block + ndims, md.dims);
    if (is_rest)
        md.dims[last_cut] = rest();
    return md;
}

// From the outermost dimension of src inwards, until a block is small enough. A cut must leave long runs of
// src: in short pieces of many rows prefetchers start anew, and no blocks at all are faster. One dimension at
// most is cut in parts, so that a rest is its alone and one more kernel serves it; those before it are cut
// into single indices.
partition partition_of(const memory_desc &src, const memory_desc &dst, int kept, dim_t most_bytes) {
    partition p;
    p.ndims = dst.ndims;
    std::copy(dst.dims, dst.dims + dst.ndims, p.dims);
    std::copy(dst.dims, dst.dims + dst.ndims, p.block);
    dim_t bytes = element_count(dst) * element_bytes(dst);
    bool is_outermost = true; // no dimension outside this one is in a block
    for (const int d : outer_dimensions(src)) {
        if (bytes <= most_bytes)
            break;
        const dim_t of_one = bytes / p.dims[d];
        const dim_t block = block_size(p.dims[d], most_bytes / of_one, indices_of_lines(dst, d));
        const bool is_long_run = is_outermost || block * src.strides[d] * element_bytes(src) >= long_run;
        if (d == kept || block == p.dims[d] || !is_long_run) {
            is_outermost = false;
            continue;
        }
        p.block[d] = block;
        p.last_cut = d;
        if (block != 1)
            break;
        bytes = of_one;
    }
    return p;
}

std::shared_ptr<const kernel> create_blocks(const partition &p, const memory_desc &src,
                                            const memory_desc &dst, std::shared_ptr<const kernel> whole,
                                            std::shared_ptr<const kernel> rest) {
    return std::make_shared<blocks_kernel>(p, src, dst, std::move(whole), std::move(rest));
}

} // namespace octet::impl::stream
