// Finds the two dimensions whose order differs, cuts matrices into tiles of cache lines, and runs strips of
// the generated kernel; elements beyond whole steps are copied one by one.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/transpose.hpp"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "common/text.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/stream/interleave.hpp"
#include "cpu/stream/nest.hpp"
#include "jit/kernels/byte_table.hpp"
#include "jit/kernels/transpose.hpp"

namespace octet::impl::stream {

namespace {

constexpr dim_t bytes_ahead = 2 * cache_line_bytes; // of each row: far enough to arrive in time
constexpr dim_t most_strip_rows = 64;
constexpr dim_t copied_row_bytes = 256 + cache_line_bytes; // lines of neighbouring rows are in different sets
// Bytes of src after which a matrix is cut: strips side by side follow soon.
constexpr dim_t tile_row_bytes = 256;

/// The nest as matrices: rows are contiguous in dst, columns in src; the other loops go over matrices.
struct matrices {
    nest::loop rows, columns;
    nest others;
};

int contiguous_in_src(const nest &n) {
    for (std::size_t l = 0; l < n.loops.size(); l++)
        if (n.loops[l].strides[1] == 1)
            return static_cast<int>(l);
    return -1;
}

matrices matrices_of(const memory_desc &src, const memory_desc &dst) {
    nest n = make_nest(dst, {strides_of(dst), strides_of(src)});
    const int columns = contiguous_in_src(n);
    matrices m{n.loops[0], n.loops[static_cast<std::size_t>(columns)], {}};
    n.loops.erase(n.loops.begin() + columns);
    n.loops[0] = {1, {}}; // in place of the rows: `locate` starts from the second loop
    m.others = n;
    return m;
}

/// Rows at a distance of n lines fall into 64 / gcd(64, n) of the 64 sets, each of which holds a line per
/// way: at a stride of 4 KiB all rows compete for one set.
/// True if lines of so many rows, read four times over, don't stay in a first-level cache.
bool shares_sets(dim_t stride, dim_t rows) {
    constexpr dim_t sets = 64, ways = 16; // some more than there are: copying costs, too
    return stride % cache_line_bytes == 0 && rows > ways * (sets / std::gcd(sets, stride / cache_line_bytes));
}

/// A part of one matrix: numbers of rows and columns, in bytes.
struct tile {
    const std::uint8_t *src;
    std::uint8_t *dst;
    dim_t rows, columns;
};

/// Generated code for strips of whole vectors and for each number of parts.
struct strip_code {
    strip_code(instruction_set isa, int element_bytes) {
        const int most = jit::max_transpose_parts(isa);
        for (int parts = 1; parts <= most; parts++)
            regular[static_cast<std::size_t>(parts)] =
                jit::transpose_code(jit::transpose_spec{isa, element_bytes, parts, false});
        if (most * jit::transpose_part_bytes == cache_line_bytes) // less is no whole line
            nontemporal = jit::transpose_code(jit::transpose_spec{isa, element_bytes, most, true});
    }
    std::array<jit::shared_code<const jit::transpose_args>, 5> regular; ///< by parts
    jit::shared_code<const jit::transpose_args> nontemporal;            ///< or null
};

template <typename T>
void copy_elements(const T *src, dim_t src_stride, T *dst, dim_t dst_stride, dim_t rows, dim_t columns) {
    for (dim_t j = 0; j < columns; j++)
        for (dim_t i = 0; i < rows; i++)
            dst[j * dst_stride + i] = src[i * src_stride + j];
}

class transpose_driver : public kernel {
public:
    transpose_driver(instruction_set isa, const memory_desc &src, const memory_desc &dst, std::size_t bytes)
        : element_bytes_(static_cast<dim_t>(memory::data_type_size(dst.data_type))),
          src_offset_(src.offset0 * element_bytes_), dst_offset_(dst.offset0 * element_bytes_),
          matrices_(matrices_of(src, dst)), src_stride_(matrices_.rows.strides[1] * element_bytes_),
          dst_stride_(matrices_.columns.strides[0] * element_bytes_),
          code_(isa, static_cast<int>(element_bytes_)),
          part_(jit::elements_per_part(static_cast<int>(element_bytes_))),
          strip_(part_ * jit::max_transpose_parts(isa)), leaves_caches_(leaves_caches(bytes)),
          shares_sets_(shares_sets(src_stride_, strip_)),
          copy_code_(shares_sets_ ? jit::byte_table_code(jit::byte_table_spec{isa, false, false}) : nullptr) {
        const dim_t rows = matrices_.rows.size, columns = matrices_.columns.size;
        const dim_t row_bytes = shares_sets(dst_stride_, most_strip_rows) ? cache_line_bytes : tile_row_bytes;
        const dim_t narrow = row_bytes / element_bytes_; // more where the other side is short
        tile_columns_ = std::max(narrow, elements_per_task / rows / narrow * narrow);
        tile_rows_ = std::max(strip_, elements_per_task / std::min(columns, tile_columns_) / strip_ * strip_);
        down_ = std::max(rows / tile_rows_, dim_t{1});
        across_ = std::max(columns / tile_columns_, dim_t{1});
        if (element_bytes_ == 1 && rows <= byte_interleaver::most_rows && dst_stride_ == rows)
            few_rows_.emplace(rows);
        else if (element_bytes_ == 1 && columns <= byte_interleaver::most_rows && src_stride_ == columns)
            few_columns_.emplace(columns);
    }

    void execute(const arguments &args) const override {
        const std::uint8_t *src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + src_offset_;
        std::uint8_t *dst = args.get<std::uint8_t>(OCTET_ARG_DST) + dst_offset_;
        const bool is_nontemporal = leaves_caches_ && fills_lines(dst);
        const auto *prefetched = args.get<const std::uint8_t>(prefetched_arg);
        const dim_t ahead = prefetched ? prefetched - src : 0;
        const dim_t elements =
            std::min(tile_rows_, matrices_.rows.size) * std::min(tile_columns_, matrices_.columns.size);
        parallel_for(matrices_.others.rows() * down_ * across_, div_up(elements_per_task, elements),
                     [&](dim_t begin, dim_t end) {
                         tile at = tile_of(begin, src, dst);
                         for (dim_t t = begin; t < end; t++) {
                             const tile next = t + 1 < end ? tile_of(t + 1, src, dst) : at;
                             run_tile(at, {next.src, ahead}, is_nontemporal);
                             at = next;
                         }
                         if (is_nontemporal)
                             finish_stores();
                     });
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override {
        return text("transposes tiles of ", std::min(tile_rows_, matrices_.rows.size), "x",
                    std::min(tile_columns_, matrices_.columns.size),
                    leaves_caches_ ? ", stores past the caches" : "");
    }

private:
    /// The tile that is prefetched.
    struct upcoming {
        const std::uint8_t *strip; ///< the next one, where this ends
        dim_t ahead;               ///< if not 0, from each byte read
    };

    /// True if strips of whole vectors fill cache lines of dst.
    bool fills_lines(const std::uint8_t *dst) const {
        if (!code_.nontemporal || !begins_line(dst) || !has_whole_lines(dst_stride_))
            return false;
        return std::all_of(
            matrices_.others.loops.begin() + 1, matrices_.others.loops.end(),
            [&](const nest::loop &l) { return has_whole_lines(l.strides[0] * element_bytes_); });
    }

    /// Tiles of one column follow each other; the last of a column and the last column have the rest.
    tile tile_of(dim_t t, const std::uint8_t *src, std::uint8_t *dst) const {
        const nest::loop &rows = matrices_.rows, &columns = matrices_.columns;
        operand_offsets at;
        locate(matrices_.others, t / (down_ * across_), at);
        const dim_t row = t % down_, column = t / down_ % across_;
        const dim_t i = row * tile_rows_, j = column * tile_columns_;
        return {src + (at[1] + j) * element_bytes_ + i * src_stride_,
                dst + (at[0] + i) * element_bytes_ + j * dst_stride_,
                row + 1 == down_ ? rows.size - i : tile_rows_,
                column + 1 == across_ ? columns.size - j : tile_columns_};
    }

    /// Transposes a tile, part by part. If rows or columns are no multiple of a part, the last part overlaps
    /// the one before.
    void run_tile(const tile &t, const upcoming &next, bool is_nontemporal) const {
        if (t.rows < part_ || t.columns < part_)
            return run_elements(t);
        const dim_t whole = t.rows / part_ * part_;
        for (dim_t i = 0; i < whole; i += strip_) {
            const dim_t rows = std::min(whole - i, strip_);
            const auto parts = static_cast<std::size_t>(rows / part_);
            const bool is_whole = is_nontemporal && rows == strip_;
            const upcoming strip{i + strip_ < whole ? rows_of(t, i + strip_).src : next.strip, next.ahead};
            run_strip(is_whole ? *code_.nontemporal : *code_.regular[parts], rows_of(t, i), rows, strip);
        }
        if (whole < t.rows)
            run_strip(*code_.regular[1], rows_of(t, t.rows - part_), part_, next);
    }

    tile rows_of(const tile &t, dim_t i) const {
        return {t.src + i * src_stride_, t.dst + i * element_bytes_, t.rows - i, t.columns};
    }

    /// The strip as it lies in memory or, where its rows share cache sets, as a copy of it that doesn't.
    void run_strip(const jit::finished_code<const jit::transpose_args> &code, const tile &t, dim_t rows,
                   const upcoming &next) const {
        if (!shares_sets_)
            return run_steps_of(code, t, src_stride_, next);
        alignas(cache_line_bytes) std::uint8_t copy[most_strip_rows * copied_row_bytes];
        const dim_t most = (copied_row_bytes - cache_line_bytes) / element_bytes_;
        for (dim_t j = 0; j < t.columns; j += most) {
            const dim_t columns = std::min(t.columns - j, most);
            // The last columns of all, if less than a part, take some of those before.
            const dim_t first = std::min(j, t.columns - std::max(columns, part_));
            tile part{t.src + first * element_bytes_, t.dst + first * dst_stride_, t.rows,
                      j + columns - first};
            const jit::byte_table_args args{
                part.src, copy, nullptr, rows, part.columns * element_bytes_, src_stride_, copied_row_bytes};
            copy_code_->function()(&args);
            part.src = copy;
            run_steps_of(code, part, copied_row_bytes, {copy, next.ahead});
        }
    }

    /// The last columns prefetch the next strip.
    void run_steps_of(const jit::finished_code<const jit::transpose_args> &code, const tile &t,
                      dim_t src_stride, const upcoming &next) const {
        const dim_t steps = t.columns / part_,
                    lines_ahead = bytes_ahead / cache_line_bytes * jit::transpose_line_steps;
        if (steps * part_ < t.columns)
            run_steps(code, t, src_stride, t.columns - part_, 1, 0);
        if (next.ahead != 0)
            return run_steps(code, t, src_stride, 0, steps, next.ahead);
        const dim_t main_steps =
            std::max(steps / jit::transpose_line_steps * jit::transpose_line_steps - lines_ahead, dim_t{0});
        run_steps(code, t, src_stride, 0, main_steps, bytes_ahead);
        const dim_t done = main_steps * part_;
        run_steps(code, t, src_stride, done, steps - main_steps,
                  next.strip - (t.src + done * element_bytes_));
    }

    void run_steps(const jit::finished_code<const jit::transpose_args> &code, const tile &t, dim_t src_stride,
                   dim_t j, dim_t steps, dim_t ahead) const {
        const jit::transpose_args args{
            t.src + j * element_bytes_, t.dst + j * dst_stride_, src_stride, dst_stride_, steps, ahead};
        code.function()(&args);
    }

    void run_elements(const tile &t) const {
        if (few_rows_)
            return few_rows_->interleave(t.src, src_stride_, t.dst, t.columns);
        if (few_columns_)
            return few_columns_->separate(t.src, t.dst, dst_stride_, t.rows);
        if (element_bytes_ == 1)
            return run_elements_of<std::uint8_t>(t);
        element_bytes_ == 2 ? run_elements_of<std::uint16_t>(t) : run_elements_of<std::uint32_t>(t);
    }
    template <typename T> void run_elements_of(const tile &t) const {
        const dim_t src_stride = src_stride_ / element_bytes_, dst_stride = dst_stride_ / element_bytes_;
        const T *src = reinterpret_cast<const T *>(t.src);
        T *dst = reinterpret_cast<T *>(t.dst);
        constexpr dim_t block = 16;
        for (dim_t j = 0; j < t.columns; j += block)
            for (dim_t i = 0; i < t.rows; i += block)
                copy_elements(src + i * src_stride + j, src_stride, dst + j * dst_stride + i, dst_stride,
                              std::min(t.rows - i, block), std::min(t.columns - j, block));
    }

    const dim_t element_bytes_, src_offset_, dst_offset_;
    const matrices matrices_;
    const dim_t src_stride_, dst_stride_; ///< bytes from row to row, from column to column
    const strip_code code_;
    const dim_t part_, strip_; ///< rows
    const bool leaves_caches_, shares_sets_;
    const jit::shared_code<const jit::byte_table_args> copy_code_; ///< or null
    dim_t tile_rows_, tile_columns_;
    dim_t down_, across_;                                    ///< tiles of a matrix
    std::optional<byte_interleaver> few_rows_, few_columns_; ///< in place of parts, where a matrix has so few
};

std::string refuses_transpose(const memory_desc &src, const memory_desc &dst) {
    if (src.format_kind != format_kind::plain || dst.format_kind != format_kind::plain)
        return "a packed layout";
    if (element_count(dst) == 0)
        return "an empty tensor";
    const nest n = make_nest(dst, {strides_of(dst), strides_of(src)});
    if (n.columns().strides[0] != 1 || contiguous_in_src(n) < 1)
        return "layouts without contiguous elements";
    return {};
}

} // namespace

candidate plan_transpose(instruction_set isa, const memory_desc &src, const memory_desc &dst,
                         std::size_t bytes) {
    const std::string reason = refuses_transpose(src, dst);
    if (!reason.empty())
        return candidate::refused(reason);
    return candidate([=] { return std::make_shared<transpose_driver>(isa, src, dst, bytes); });
}

} // namespace octet::impl::stream
