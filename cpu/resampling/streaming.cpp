#include "cpu/resampling/streaming.hpp"

#include <immintrin.h>

#include <cstdint>

#include "common/element.hpp"

namespace octet::impl::resampling {

namespace {

/// Of a last-level cache, what a program finds for itself.
constexpr dim_t cached_bytes = dim_t{16} << 20;

} // namespace

bool leaves_caches(const memory_desc &dst) {
    return element_count(dst) * static_cast<dim_t>(memory::data_type_size(dst.data_type)) >= cached_bytes;
}

bool can_stream(const memory_desc &dst) {
    const auto size = static_cast<dim_t>(memory::data_type_size(dst.data_type));
    bool has_lines = dst.dims[1] * size % line_bytes == 0;
    for (int d = 0; d < dst.ndims; d++)
        has_lines = has_lines && (d == 1 || dst.strides[d] * size % line_bytes == 0);
    return has_lines && leaves_caches(dst);
}

bool is_line_aligned(const void *dst) { return reinterpret_cast<std::uintptr_t>(dst) % line_bytes == 0; }

void finish_streaming() { _mm_sfence(); }

} // namespace octet::impl::resampling
