#include "cpu/stream/transpose.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cpu/stream/nest.hpp"
#include "jit/transpose.hpp"

namespace octet::impl::stream {

namespace {

constexpr dim_t line_bytes = 64;
constexpr dim_t run_bytes =
    256; // contiguous bytes of dst that are written together: neighbouring lines arrive sooner
constexpr std::size_t cached_bytes = std::size_t{1} << 22; // larger tensors are prefetched
constexpr dim_t tile_bytes = 16384; // tiles of source and destination lie in a first-level cache

// ---- blocks of 16 bytes in each of so many rows

/// Interleaving row i with row i + n/2 of all n rows, log2(n) times, transposes them.
struct byte_block {
    using element = std::uint8_t;
    static constexpr int size = 16, stages = 4;
    static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi8(a, b); }
    static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi8(a, b); }
};
struct dword_block {
    using element = std::uint32_t;
    static constexpr int size = 4, stages = 2;
    static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi32(a, b); }
    static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi32(a, b); }
};

template <typename Block> void transpose_rows(__m128i *rows) {
    __m128i from[Block::size];
    for (int stage = 0; stage < Block::stages; stage++) {
        std::copy(rows, rows + Block::size, from);
        for (int i = 0; i < Block::size / 2; i++) {
            rows[2 * i] = Block::low(from[i], from[i + Block::size / 2]);
            rows[2 * i + 1] = Block::high(from[i], from[i + Block::size / 2]);
        }
    }
}

template <typename T> __m128i load(const T *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}
template <typename T> void store(T *to, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i *>(to), x); }

template <typename Block, typename T = typename Block::element>
void whole_block(const T *src, dim_t src_stride, T *dst, dim_t dst_stride) {
    __m128i rows[Block::size];
    for (int i = 0; i < Block::size; i++)
        rows[i] = load(src + i * src_stride);
    transpose_rows<Block>(rows);
    for (int i = 0; i < Block::size; i++)
        store(dst + i * dst_stride, rows[i]);
}

/// `rows` rows of src with `columns` elements, all or less than a block has.
template <typename Block, typename T = typename Block::element>
void part_of_block(const T *src, dim_t src_stride, T *dst, dim_t dst_stride, dim_t rows, dim_t columns) {
    for (dim_t j = 0; j < columns; j++)
        for (dim_t i = 0; i < rows; i++)
            dst[j * dst_stride + i] = src[i * src_stride + j];
}

/// Blocks of so many columns by generated code; what is left over below a block or beside one is not.
void whole_strips(const jit::transpose_kernel *code, const std::uint8_t *src, dim_t src_stride,
                  std::uint8_t *dst, dim_t dst_stride, dim_t blocks, dim_t columns) {
    for (dim_t j = 0; j + jit::transpose_kernel::columns <= columns; j += jit::transpose_kernel::columns) {
        const jit::transpose_args args{src + j, dst + j * dst_stride, src_stride, dst_stride, blocks};
        code->function()(&args);
    }
}

template <typename Block, typename T = typename Block::element>
void tile(const T *src, dim_t src_stride, T *dst, dim_t dst_stride, dim_t rows, dim_t columns) {
    constexpr dim_t n = Block::size;
    for (dim_t j = 0; j < columns; j += n) // fills lines of dst one after the other
        for (dim_t i = 0; i < rows; i += n) {
            const T *from = src + i * src_stride + j;
            T *to = dst + j * dst_stride + i;
            if (i + n <= rows && j + n <= columns)
                whole_block<Block>(from, src_stride, to, dst_stride);
            else
                part_of_block<Block>(from, src_stride, to, dst_stride, std::min(rows - i, n),
                                     std::min(columns - j, n));
        }
}

// ---- loops

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

class transpose_driver : public kernel {
public:
    transpose_driver(cpu_isa level, const memory_desc &src, const memory_desc &dst)
        : src_offset_(src.offset0), dst_offset_(dst.offset0), matrices_(matrices_of(src, dst)),
          element_bytes_(static_cast<dim_t>(memory::data_type_size(dst.data_type))),
          leaves_caches_(size_in_bytes(src) > cached_bytes), code_(jit::shared_transpose_kernel(level)) {
        const dim_t line = line_bytes / element_bytes_, elements = tile_bytes / element_bytes_;
        tile_rows_ = std::min(matrices_.rows.size, run_bytes / element_bytes_);
        tile_columns_ = std::max(line, elements / tile_rows_ / line * line);
        down_ = div_up(matrices_.rows.size, tile_rows_);
        across_ = div_up(matrices_.columns.size, tile_columns_);
    }

    void execute(const arguments &args) const override {
        if (element_bytes_ == 1)
            run<byte_block>(args);
        else
            run<dword_block>(args);
    }
    std::size_t size_bytes() const override { return sizeof *this; }

private:
    template <typename Block> void run(const arguments &args) const {
        using T = typename Block::element;
        const T *src = args.get<const T>(OCTET_ARG_SRC) + src_offset_;
        T *dst = args.get<T>(OCTET_ARG_DST) + dst_offset_;
        const dim_t elements = tile_rows_ * tile_columns_;
        parallel_for(matrices_.others.rows() * down_ * across_, div_up(elements_per_task, elements),
                     [&](dim_t begin, dim_t end) {
                         for (dim_t t = begin; t < end; t++) {
                             if (leaves_caches_ && t + 1 < end)
                                 prefetch(place_of(t + 1, src, dst));
                             run_tile<Block>(place_of(t, src, dst));
                         }
                     });
    }

    template <typename Block, typename Place> void run_tile(const Place &p) const {
        const dim_t src_stride = matrices_.rows.strides[1], dst_stride = matrices_.columns.strides[0];
        dim_t done_rows = 0, done_columns = 0;
        if constexpr (std::is_same_v<Block, byte_block>)
            if (code_) {
                const dim_t blocks = p.rows / jit::transpose_kernel::rows;
                done_rows = blocks * jit::transpose_kernel::rows;
                done_columns = p.columns / jit::transpose_kernel::columns * jit::transpose_kernel::columns;
                if (blocks > 0)
                    whole_strips(code_.get(), p.src, src_stride, p.dst, dst_stride, blocks, p.columns);
            }
        // Below what is done, and beside it.
        tile<Block>(p.src + done_rows * src_stride, src_stride, p.dst + done_rows, dst_stride,
                    p.rows - done_rows, done_columns);
        tile<Block>(p.src + done_columns, src_stride, p.dst + done_columns * dst_stride, dst_stride, p.rows,
                    p.columns - done_columns);
    }

    template <typename T> struct place {
        const T *src;
        T *dst;
        dim_t rows, columns;
    };
    template <typename T> place<T> place_of(dim_t t, const T *src, T *dst) const {
        const nest::loop &rows = matrices_.rows, &columns = matrices_.columns;
        operand_offsets at;
        locate(matrices_.others, t / (down_ * across_), at);
        const dim_t i = t % down_ * tile_rows_, j = t / down_ % across_ * tile_columns_;
        return {src + at[1] + i * rows.strides[1] + j, dst + at[0] + j * columns.strides[0] + i,
                std::min(rows.size - i, tile_rows_), std::min(columns.size - j, tile_columns_)};
    }

    /// Rows of a tile are too many for the hardware to see that they go on.
    template <typename T> void prefetch(const place<T> &p) const {
        for (dim_t i = 0; i < p.rows; i++)
            for (dim_t j = 0; j < p.columns; j += line_bytes / element_bytes_)
                _mm_prefetch(reinterpret_cast<const char *>(p.src + i * matrices_.rows.strides[1] + j),
                             _MM_HINT_T1);
    }

    const dim_t src_offset_, dst_offset_;
    const matrices matrices_;
    const dim_t element_bytes_;
    const bool leaves_caches_;
    const std::shared_ptr<const jit::transpose_kernel> code_; ///< of bytes, or null
    dim_t tile_rows_, tile_columns_;                          ///< of src
    dim_t down_, across_;                                     ///< tiles of a matrix
};

} // namespace

std::string refuses_transpose(const memory_desc &src, const memory_desc &dst) {
    if (src.format_kind != format_kind::plain || dst.format_kind != format_kind::plain)
        return "a packed layout";
    if (element_count(dst) == 0)
        return "an empty tensor";
    if (memory::data_type_size(dst.data_type) == 2)
        return "another layout of elements of 16 bits";
    const nest n = make_nest(dst, {strides_of(dst), strides_of(src)});
    if (n.columns().strides[0] != 1 || contiguous_in_src(n) < 1)
        return "layouts without contiguous elements";
    return {};
}

std::shared_ptr<const kernel> create_transpose(cpu_isa level, const memory_desc &src,
                                               const memory_desc &dst) {
    return std::make_shared<transpose_driver>(level, src, dst);
}

} // namespace octet::impl::stream
