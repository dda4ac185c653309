// dst = x / (k + alpha / n * sum)^beta, in the orders of operations of oneDNN's kernels. fma rounds once, all else
// after each operation.
// SPDX-License-Identifier: Apache-2.0
#include "common/lrn_problem.hpp"

#include <algorithm>
#include <cmath>

#include "common/element.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/ref/ref.hpp"

namespace octet::impl::ref {

namespace {

/// An element's neighbours, which are 0 outside the tensor.
class neighbours {
public:
    neighbours(const lrn_problem &p, const void *src, const coordinates &at) : p_(p), src_(src), at_(at) {}

    float centre() const { return load(at_); }
    float channel(dim_t distance) const {
        coordinates at = at_;
        at[1] += distance;
        return at[1] < 0 || at[1] >= p_.src.dims[1] ? 0.f : load(at);
    }
    /// Calls f for each element of the channel in the window, of `before` to `behind` in each dimension.
    template <typename F> void for_each_pixel(dim_t before, dim_t behind, const F &f) const {
        coordinates at = at_;
        for_each_pixel(2, before, behind, at, f);
    }

private:
    template <typename F>
    void for_each_pixel(int d, dim_t before, dim_t behind, coordinates &at, const F &f) const {
        if (d == max_ndims || d == p_.src.ndims) // the first tells the compiler where recursion ends
            return f(load(at));
        const dim_t last = std::min(at_[d] + behind, p_.src.dims[d] - 1);
        for (at[d] = std::max<dim_t>(at_[d] - before, 0); at[d] <= last; at[d]++)
            for_each_pixel(d + 1, before, behind, at, f);
    }
    float load(const coordinates &at) const {
        return load_f32(src_, p_.src.data_type, plain_offset(p_.src, at));
    }

    const lrn_problem &p_;
    const void *src_;
    const coordinates &at_;
};

/// Elements that a full window has.
float elements_of_window(const lrn_problem &p) {
    dim_t n = p.size;
    for (int d = 3; d < p.src.ndims && !p.is_across; d++)
        n *= p.size;
    return static_cast<float>(n);
}

/// x / base^beta for a beta of 1 or 3/4.
float quotient(const lrn_problem &p, float x, float base) {
    return x / (p.beta == 1.f ? base : std::sqrt(std::sqrt(base * (base * base))));
}

float by_centre_first(const lrn_problem &p, const neighbours &x) {
    const float centre = x.centre();
    const dim_t reach = (p.size - 1) / 2;
    float sum = centre * centre;
    const auto add = [&](float y) { sum = std::fma(y, y, sum); };
    for (dim_t i = -reach; i < 0; i++)
        add(x.channel(i));
    for (dim_t i = 1; i <= reach; i++)
        add(x.channel(i));
    return quotient(p, centre, std::fma(sum, p.alpha / elements_of_window(p), p.k));
}

float by_window(const lrn_problem &p, const neighbours &x) {
    float sum = 0.f;
    x.for_each_pixel((p.size - 1) / 2, p.size / 2, [&](float y) { sum = std::fma(y, y, sum); });
    return quotient(p, x.centre(), std::fma(sum, p.alpha / elements_of_window(p), p.k));
}

float by_plain_operations(const lrn_problem &p, const neighbours &x) {
    const dim_t reach = (p.size - 1) / 2, far = std::min(reach, p.src.dims[1]); // behind are zeros alone
    float sum = 0.f;
    const auto add = [&](float y) { sum = sum + y * y; };
    if (p.is_across)
        for (dim_t i = -far; i <= far; i++)
            add(x.channel(i));
    else
        x.for_each_pixel(reach, reach, add);
    const float base = p.k + p.alpha * sum / elements_of_window(p);
    const float factor =
        p.beta == 0.75f ? std::sqrt(1.f / (std::sqrt(base) * base)) : 1.f / std::pow(base, p.beta);
    return x.centre() * factor;
}

/// A sum goes from channel to channel: the next square comes in, and behind the result the last goes out.
void run_along_channels(const lrn_problem &p, const void *src, void *dst, coordinates at) {
    constexpr dim_t reach = 2; // windows of 5
    const auto channel = [&](dim_t c) { return neighbours(p, src, at).channel(c - at[1]); };
    float sum = 0.f;
    for (dim_t c = 0; c < reach; c++)
        sum = std::fma(channel(c), channel(c), sum);
    for (dim_t c = 0; c < p.src.dims[1]; c++) {
        const float next = channel(c + reach), last = channel(c - reach);
        sum = std::fma(next, next, sum);
        at[1] = c;
        const float base = std::fma(sum, p.alpha / elements_of_window(p), p.k);
        store_f32(dst, p.dst.data_type, plain_offset(p.dst, at), quotient(p, channel(c), base));
        sum = std::fma(-last, last, sum);
    }
}

void run(const lrn_problem &p, const arguments &args) {
    const void *src = args.get<const void>(OCTET_ARG_SRC);
    void *dst = args.get(OCTET_ARG_DST);
    memory_desc items = p.dst; // each computed by itself
    if (p.order == lrn_order::running)
        items.dims[1] = 1;
    parallel_for(element_count(items), 1, [&](dim_t begin, dim_t end) {
        coordinates at = coordinates_of(begin, items);
        for (dim_t i = begin; i < end; i++, advance(at, items)) {
            if (p.order == lrn_order::running) {
                run_along_channels(p, src, dst, at);
                continue;
            }
            const neighbours x(p, src, at);
            const float y = p.order == lrn_order::centre_first ? by_centre_first(p, x)
                            : p.order == lrn_order::window     ? by_window(p, x)
                                                               : by_plain_operations(p, x);
            store_f32(dst, p.dst.data_type, plain_offset(p.dst, at), y);
        }
    });
}

} // namespace

std::shared_ptr<const kernel> create(const lrn_problem &p) {
    return std::make_shared<reference_kernel<lrn_problem>>(p, run);
}

} // namespace octet::impl::ref
