// The order is total, so that the result does not depend on how a line is divided.
// SPDX-License-Identifier: Apache-2.0
#include "loops/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loops/parallel.hpp"

namespace octet::loops {

top_k::top_k(const tensor_lines &x, dim_t count, bool is_largest)
    : x_(x), count_(count), is_largest_(is_largest) {
    constexpr dim_t some_lines = 16, room = 1 << 16, most_parts = 16;
    const dim_t short_lines = room / std::max<dim_t>(x.size, 1);
    together_ = std::clamp<dim_t>(std::max(some_lines, short_lines), 1, std::max<dim_t>(x.count(), 1));
    // A part brings its own first ones in order, which is worth it where they are few beside what is looked at.
    const dim_t least_part = std::max<dim_t>(dim_t{1} << 15, 128 * count);
    parts_ = std::clamp<dim_t>(x.size / least_part, 1, most_parts);
    part_ = (x.size + parts_ - 1) / parts_;
}

void top_k::sort(const float *line, std::int32_t *candidates, dim_t size) const {
    const auto is_before = [&](std::int32_t a, std::int32_t b) {
        const float x = line[a * x_.inner], y = line[b * x_.inner];
        if (std::isnan(x) || std::isnan(y))
            return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
        return x == y ? a < b : is_largest_ ? x > y : x < y;
    };
    std::partial_sort(candidates, candidates + std::min(count_, size), candidates + size, is_before);
}

void top_k::run(const float *x, std::int32_t *scratch, float *values, std::int32_t *places) const {
    constexpr dim_t work = 4; // of an element that is compared
    for (dim_t first = 0, count; first < x_.count(); first += count) {
        count = std::min(together_, x_.count() - first);
        const auto line_of = [&](dim_t n) { return x + x_.begin(first + n, x_.size); };
        parallel_for(count * parts_, part_ * work, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t n = i / parts_, from = std::min(i % parts_ * part_, x_.size),
                            size = std::min(part_, x_.size - from);
                std::int32_t *const candidates = scratch + n * x_.size + from;
                std::iota(candidates, candidates + size, static_cast<std::int32_t>(from));
                sort(line_of(n), candidates, size);
            }
        });
        parallel_for(count, parts_ * count_ * work, [&](dim_t begin, dim_t end) {
            for (dim_t n = begin; n < end; n++) {
                std::int32_t *const candidates = scratch + n * x_.size;
                dim_t size = std::min(count_, part_);
                for (dim_t p = 1; p < parts_; p++) {
                    const dim_t from = std::min(p * part_, x_.size), kept = std::min(count_, x_.size - from);
                    std::copy_n(candidates + from, std::min(kept, part_), candidates + size);
                    size += std::min(kept, part_);
                }
                if (parts_ > 1)
                    sort(line_of(n), candidates, size);
                for (dim_t k = 0; k < count_; k++) {
                    const dim_t to = x_.begin(first + n, count_) + k * x_.inner;
                    values[to] = line_of(n)[candidates[k] * x_.inner];
                    places[to] = candidates[k];
                }
            }
        });
    }
}

} // namespace octet::loops
