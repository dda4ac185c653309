// A line is some neighbouring elements. Its sums take the squares of one line after the other, in the order of the
// window; elements outside the tensor are left out or zeros, which changes no sum. Start at `normalize`.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/lanes/lrn.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "common/text.hpp"
#include "cpu/machine/avx2.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl::lanes {

namespace {

constexpr dim_t width = 8, longest_line = 512;

/// The tensor as [image][channel][depth][height][width], or with the channels last.
struct lrn_shape {
    explicit lrn_shape(const memory_desc &md)
        : images(md.dims[0]), channels(md.dims[1]), w(md.ndims > 2 ? md.dims[md.ndims - 1] : 1),
          h(md.ndims > 3 ? md.dims[md.ndims - 2] : 1), d(md.ndims > 4 ? md.dims[2] : 1) {}
    dim_t pixels() const { return d * h * w; }
    dim_t images, channels, w, h, d;
};

memory_desc row_major_of(const memory_desc &md) {
    memory_desc plain = md;
    set_row_major(plain);
    return plain;
}
memory_desc channels_last_of(const memory_desc &md) {
    memory_desc plain = md;
    dim_t stride = md.dims[1];
    plain.strides[1] = 1;
    for (int d = md.ndims - 1; d >= 2; stride *= md.dims[d--])
        plain.strides[d] = stride;
    plain.strides[0] = stride;
    return plain;
}
/// Strides of dimensions of 1 do not matter.
bool lies_as(const memory_desc &md, const memory_desc &other) {
    for (int d = 0; d < md.ndims; d++)
        if (md.dims[d] > 1 && md.strides[d] != other.strides[d])
            return false;
    return true;
}

// ---- of a line

template <bool is_fused> OCTET_AVX2 void add_squares(const float *x, float *sum, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        sum[i] = is_fused ? std::fma(x[i], x[i], sum[i]) : sum[i] + x[i] * x[i];
}
OCTET_AVX2 void subtract_squares_fused(const float *x, float *sum, dim_t count) {
    for (dim_t i = 0; i < count; i++)
        sum[i] = std::fma(-x[i], x[i], sum[i]);
}

/// Of so many lines, `stride` apart. Sums of some elements stay in registers meanwhile.
template <bool is_fused>
OCTET_AVX2 void add_squares_of_lines(const float *x, dim_t lines, dim_t stride, float *sum, dim_t count) {
    constexpr int vectors = 4;
    dim_t i = 0;
    for (; i + vectors * width <= count; i += vectors * width) {
        __m256 sums[vectors];
        for (int v = 0; v < vectors; v++)
            sums[v] = _mm256_loadu_ps(sum + i + v * width);
        for (dim_t line = 0; line < lines; line++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const __m256 y = _mm256_loadu_ps(x + line * stride + i + v * width);
                sums[v] =
                    is_fused ? _mm256_fmadd_ps(y, y, sums[v]) : _mm256_add_ps(sums[v], _mm256_mul_ps(y, y));
            }
        for (int v = 0; v < vectors; v++)
            _mm256_storeu_ps(sum + i + v * width, sums[v]);
    }
    for (dim_t line = 0; i < count && line < lines; line++)
        add_squares<is_fused>(x + line * stride + i, sum + i, count - i);
}

/// x / base^beta of sums.
class lrn_quotient {
public:
    explicit lrn_quotient(const lrn_problem &p)
        : is_plain_(p.order == lrn_order::plain), alpha_(p.alpha), beta_(p.beta), k_(p.k) {
        dim_t n = p.size;
        for (int d = 3; d < p.src.ndims && !p.is_across; d++)
            n *= p.size;
        elements_ = static_cast<float>(n);
    }

    OCTET_AVX2 void store(const float *x, const float *sum, float *y, dim_t count) const {
        dim_t i = 0;
        for (; i + width <= count; i += width)
            _mm256_storeu_ps(y + i, of_vector(_mm256_loadu_ps(x + i), _mm256_loadu_ps(sum + i)));
        if (i == count)
            return;
        float last_x[width] = {}, last_sum[width] = {}, last_y[width];
        std::copy(x + i, x + count, last_x);
        std::copy(sum + i, sum + count, last_sum);
        _mm256_storeu_ps(last_y, of_vector(_mm256_loadu_ps(last_x), _mm256_loadu_ps(last_sum)));
        std::copy_n(last_y, count - i, y + i);
    }

private:
    OCTET_AVX2 __m256 of_vector(__m256 x, __m256 sum) const {
        const __m256 k = _mm256_set1_ps(k_);
        if (is_plain_) {
            const __m256 scaled =
                _mm256_div_ps(_mm256_mul_ps(_mm256_set1_ps(alpha_), sum), _mm256_set1_ps(elements_));
            return _mm256_mul_ps(x, factor_of(_mm256_add_ps(k, scaled)));
        }
        const __m256 base = _mm256_fmadd_ps(sum, _mm256_set1_ps(alpha_ / elements_), k);
        if (beta_ == 1.f)
            return _mm256_div_ps(x, base);
        const __m256 cube = _mm256_mul_ps(base, _mm256_mul_ps(base, base));
        return _mm256_div_ps(x, _mm256_sqrt_ps(_mm256_sqrt_ps(cube)));
    }
    OCTET_AVX2 __m256 factor_of(__m256 base) const {
        const __m256 one = _mm256_set1_ps(1.f);
        if (beta_ == 0.75f)
            return _mm256_sqrt_ps(_mm256_div_ps(one, _mm256_mul_ps(_mm256_sqrt_ps(base), base)));
        float power[width];
        _mm256_storeu_ps(power, base);
        for (float &x : power)
            x = std::pow(x, beta_);
        return _mm256_div_ps(one, _mm256_loadu_ps(power));
    }

    bool is_plain_;
    float alpha_, beta_, k_, elements_;
};

// ---- the kernel

class lrn_kernel : public kernel {
public:
    lrn_kernel(const lrn_problem &p, bool has_channels_last)
        : p_(p), shape_(p.src), has_channels_last_(has_channels_last), quotient_(p) {}

    void execute(const arguments &args) const override {
        normalize(args.get<const float>(OCTET_ARG_SRC) + p_.src.offset0,
                  args.get<float>(OCTET_ARG_DST) + p_.dst.offset0);
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override {
        return text("neighbouring ", has_channels_last_ ? "channels" : "pixels", ", ", width, " at a time");
    }

private:
    /// body(begin, end) for parts of so many items of that many elements.
    template <typename Body> static void for_parts(dim_t items, dim_t elements, const Body &body) {
        constexpr dim_t elements_per_task = 4096;
        parallel_for(items, div_up(elements_per_task, std::max<dim_t>(elements, 1)), body);
    }

    void normalize(const float *src, float *dst) const {
        if (p_.order == lrn_order::running)
            return run_along_channels(src, dst);
        if (!p_.is_across)
            return has_channels_last_ ? sum_pixels_of_channels(src, dst) : sum_pixels_of_rows(src, dst);
        return has_channels_last_ ? sum_channels_of_pixels(src, dst) : sum_planes(src, dst);
    }

    void add(const float *x, dim_t lines, dim_t stride, float *sum, dim_t count) const {
        (p_.order == lrn_order::plain ? add_squares_of_lines<false>
                                      : add_squares_of_lines<true>)(x, lines, stride, sum, count);
    }
    dim_t reach() const { return (p_.size - 1) / 2; }
    /// Behind which there are zeros alone.
    dim_t far() const { return std::min(reach(), shape_.channels); }

    /// Across, channels last: a pixel's channels between zeros.
    void sum_channels_of_pixels(const float *src, float *dst) const {
        const dim_t c = shape_.channels, far = this->far();
        for_parts(shape_.images * shape_.pixels(), c, [&](dim_t begin, dim_t end) {
            float *const padded = scratch_of<float>(scratch_slot::source_copy, c + 2 * far), *const row =
                                                                                                 padded + far;
            std::fill_n(padded, c + 2 * far, 0.f);
            for (dim_t pixel = begin; pixel < end; pixel++) {
                std::copy_n(src + pixel * c, c, row);
                for (dim_t at = 0; at < c; at += longest_line) {
                    const dim_t count = std::min(longest_line, c - at);
                    float sum[longest_line];
                    std::fill_n(sum, count, 0.f);
                    if (p_.order == lrn_order::centre_first) {
                        add_squares<false>(row + at, sum, count);
                        add(row + at - far, far, 1, sum, count);
                        add(row + at + 1, far, 1, sum, count);
                    } else {
                        add(row + at - far, 2 * far + 1, 1, sum, count);
                    }
                    quotient_.store(row + at, sum, dst + pixel * c + at, count);
                }
            }
        });
    }

    /// Lines of pixels: body(first element of the first channel, pixels) for all images.
    template <typename Body> void for_lines_of_pixels(const Body &body) const {
        const dim_t pixels = shape_.pixels(), lines = div_up(pixels, longest_line);
        for_parts(shape_.images * lines, shape_.channels * std::min(pixels, longest_line),
                  [&](dim_t begin, dim_t end) {
                      for (dim_t i = begin; i < end; i++) {
                          const dim_t first = i % lines * longest_line;
                          body(i / lines * shape_.channels * pixels + first,
                               std::min(longest_line, pixels - first));
                      }
                  });
    }

    /// Across, channel after channel.
    void sum_planes(const float *src, float *dst) const {
        const dim_t pixels = shape_.pixels(), last = shape_.channels - 1, far = this->far();
        for_lines_of_pixels([&](dim_t at, dim_t count) {
            for (dim_t c = 0; c <= last; c++) {
                float sum[longest_line];
                std::fill_n(sum, count, 0.f);
                const dim_t first = std::max<dim_t>(c - far, 0);
                add(src + at + first * pixels, std::min(c + far, last) - first + 1, pixels, sum, count);
                quotient_.store(src + at + c * pixels, sum, dst + at + c * pixels, count);
            }
        });
    }

    /// A sum goes from channel to channel: the next square comes in, and behind the result the last goes out.
    void run_along_channels(const float *src, float *dst) const {
        constexpr dim_t reach = 2; // windows of 5
        const dim_t pixels = shape_.pixels(), channels = shape_.channels;
        for_lines_of_pixels([&](dim_t at, dim_t count) {
            float sum[longest_line];
            std::fill_n(sum, count, 0.f);
            const auto channel = [&](dim_t c) { return src + at + c * pixels; };
            for (dim_t c = 0; c < std::min(reach, channels); c++)
                add_squares<true>(channel(c), sum, count);
            for (dim_t c = 0; c < channels; c++) {
                if (c + reach < channels)
                    add_squares<true>(channel(c + reach), sum, count);
                quotient_.store(channel(c), sum, dst + at + c * pixels, count);
                if (c >= reach)
                    subtract_squares_fused(channel(c - reach), sum, count);
            }
        });
    }

    /// body(row of the image) for those of a window around it.
    template <typename Body> void for_rows_of_window(dim_t row, const Body &body) const {
        const dim_t d = row / shape_.h, h = row % shape_.h;
        for (dim_t i = std::max<dim_t>(d - reach(), 0); i <= std::min(d + behind(), shape_.d - 1); i++)
            for (dim_t j = std::max<dim_t>(h - reach(), 0); j <= std::min(h + behind(), shape_.h - 1); j++)
                body(i * shape_.h + j);
    }
    /// Windows of even sizes have one more behind the centre in one order, and both ways as many in the other.
    dim_t behind() const { return p_.order == lrn_order::window ? p_.size / 2 : reach(); }

    /// Within, channels last.
    void sum_pixels_of_channels(const float *src, float *dst) const {
        const dim_t c = shape_.channels, pixels = shape_.pixels();
        for_parts(shape_.images * pixels, c * p_.size, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t pixel = i % pixels, image = i - pixel, w = pixel % shape_.w;
                const dim_t first = std::max<dim_t>(w - reach(), 0),
                            last = std::min(w + behind(), shape_.w - 1);
                for (dim_t at = 0; at < c; at += longest_line) {
                    const dim_t count = std::min(longest_line, c - at);
                    float sum[longest_line];
                    std::fill_n(sum, count, 0.f);
                    for_rows_of_window(pixel / shape_.w, [&](dim_t row) {
                        add(src + (image + row * shape_.w + first) * c + at, last - first + 1, c, sum, count);
                    });
                    quotient_.store(src + i * c + at, sum, dst + i * c + at, count);
                }
            }
        });
    }

    /// Within, a channel's rows: the window's elements of a line of pixels are lines, too.
    void sum_pixels_of_rows(const float *src, float *dst) const {
        const dim_t rows = shape_.d * shape_.h, length = shape_.w;
        for_parts(shape_.images * shape_.channels * rows, length * p_.size, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t row = i % rows, plane = (i - row) * length;
                for (dim_t at = 0; at < length; at += longest_line)
                    sum_rows(src + plane, dst + plane, row, at, std::min(longest_line, length - at));
            }
        });
    }
    void sum_rows(const float *src, float *dst, dim_t row, dim_t at, dim_t count) const {
        float sum[longest_line];
        std::fill_n(sum, count, 0.f);
        const dim_t length = shape_.w, far = std::min(reach(), length);
        for_rows_of_window(row, [&](dim_t other) {
            for (dim_t i = -far; i <= far; i++) {
                const dim_t first = std::max(at, -i), end = std::min(at + count, length - i);
                if (first < end)
                    add(src + other * length + first + i, 1, 0, sum + first - at, end - first);
            }
        });
        quotient_.store(src + row * length + at, sum, dst + row * length + at, count);
    }

    const lrn_problem p_;
    const lrn_shape shape_;
    const bool has_channels_last_;
    const lrn_quotient quotient_;
};

} // namespace

candidate plan(const lrn_problem &p, const machine &) {
    const bool is_row_major = lies_as(p.src, row_major_of(p.src)),
               has_channels_last = lies_as(p.src, channels_last_of(p.src));
    if ((!is_row_major && !has_channels_last) || !lies_as(p.dst, p.src))
        return candidate::refused("a layout with gaps, or neither row-major nor with the channels last");
    // Orders are those of layouts, which are one where a tensor has one channel or pixel.
    const bool by_channels =
        has_channels_last && p.order != lrn_order::running && (!is_row_major || p.order != lrn_order::plain);
    return candidate([p, by_channels] { return std::make_shared<lrn_kernel>(p, by_channels); });
}

} // namespace octet::impl::lanes
