#pragma once // SPDX-License-Identifier: Apache-2.0

// The parts of drawing a problem: a generator whose numbers follow from a seed on every machine and library
// (the distributions of <random> don't), tensors, and attributes (draw_attributes.cpp).

#include <initializer_list>

#include "oracle/problem.hpp"

namespace octet::oracle {

class random_source {
public:
    random_source(std::uint64_t seed, std::uint64_t number) : state_(seed * 0x9e3779b97f4a7c15u + number) {
        next();
    }

    std::uint64_t next() { // splitmix64
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(int percent) { return between(1, 100) <= percent; }
    double real(double low, double high) {
        return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
    }
    float real_f32(double low, double high) { return static_cast<float>(real(low, high)); }
    template <typename T> T pick(std::initializer_list<T> values) {
        return values.begin()[next() % values.size()];
    }

private:
    std::uint64_t state_;
};

dim_t volume(const dims &d);
/// Around the widths of registers and of blocks.
dim_t draw_channels(random_source &r);

bool is_tflite_rule(rule r);

tensor draw_tensor(random_source &r, const dims &shape, data_type type, bool may_be_any);
/// Mostly dense in the order of another tensor's dimensions, as one that is met element by element.
tensor draw_tensor_like(random_source &r, const tensor &other, const dims &shape, data_type type);
/// Mostly with the second dimension innermost, as generated kernels want it.
tensor draw_channels_last(random_source &r, const dims &shape, data_type type);
std::int32_t draw_zero_point(random_source &r, data_type type);
masked_values<std::int32_t> draw_zero_points(random_source &r, const dims &shape, int mask, data_type type);
masked_values<float> draw_scales(random_source &r, const dims &shape, int mask, double low, double high);
/// Around `real`, or (wild) now and then far from it.
fixed_point_multiplier draw_multiplier(random_source &r, rule of, double real, bool may_be_wild = false);
post_op::eltwise draw_function(random_source &r);

/// Dimensions from `least` to `most`, at most `budget` elements.
dims draw_shape(random_source &r, std::size_t least, std::size_t most, dim_t budget);
data_type draw_code(random_source &r);   ///< u8 or s8
data_type draw_number(random_source &r); ///< also s32 and f32
rule draw_tflite(random_source &r, bool one_step = true);
float draw_scale(random_source &r);
void set_scale(problem &p, int arg, float scale);
void set_scales(random_source &r, problem &p, std::initializer_list<int> args);
void set_zero_point(random_source &r, problem &p, int arg, data_type of);
void draw_dst_zero_point(random_source &r, problem &p);

/// A rule with multipliers or real scales around `real`.
void draw_integer_rule(random_source &r, problem &p, int mask, double real);
/// `channel`: the dimension of dst that a per-channel bias, binary or prelu follows.
void draw_post_ops(random_source &r, problem &p, int channel);

/// The facts that the attributes of a sum of products depend on.
struct dot_shape {
    dim_t reduction;
    int channel, weights_mask; ///< dimension of dst; mask of one value per output channel
    dim_t channels;
    dims bias; ///< empty: none
};
void draw_dot_attributes(random_source &r, problem &p, const dot_shape &shape);

/// Shapes that fit a budget of products, layouts and attributes (draw_products.cpp).
///@{
void draw_convolution(random_source &r, problem &p); ///< or deconvolution
void draw_inner_product(random_source &r, problem &p);
void draw_matmul(random_source &r, problem &p);
///@}

/// Tensors that are met element by element (draw_elementwise.cpp).
///@{
void draw_binary(random_source &r, problem &p);
void draw_eltwise(random_source &r, problem &p);
void draw_prelu(random_source &r, problem &p);
void draw_sum(random_source &r, problem &p);
///@}

/// No window of a pooling lies wholly in the padding.
bool windows_touch_the_image(const problem &p, const dims &src, const dims &dst);

} // namespace octet::oracle
