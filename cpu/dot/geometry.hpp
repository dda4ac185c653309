#pragma once // SPDX-License-Identifier: Apache-2.0

// The one form that convolution, inner product and matmul take before they are planned: rows of source bytes
// against columns of weights. A row is an output pixel; `width` rows with a constant distance form a line.
//
//   matmul         outer = batches, one line of M rows, one tap
//   inner product  one line of N rows, taps = spatial positions
//   convolution    outer = images, a line per output row, taps = kernel positions

#include <string>
#include <vector>

#include "common/convolution_problem.hpp"
#include "common/matmul_problem.hpp"
#include "cpu/weights/weights.hpp"
#include "jit/epilogue/epilogue_plan.hpp"
#include "jit/kernels/dot.hpp"

namespace octet::impl {

struct dot_geometry {
    memory_desc src, dst;
    std::vector<dim_t> src_outer{0};        ///< offsets in bytes, one per outer index
    std::vector<dim_t> dst_outer{0};        ///< the same in elements
    std::vector<dim_t> first_group{0};      ///< stored group of weights, one per outer index
    dim_t depth = 1, height = 1, width = 1; ///< output positions of one outer index
    extent3 in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
    bool rows_are_images = false;     ///< inner product: the taps of a row are a whole image
    extent3 src_strides{0, 0, 0};     ///< bytes between neighbouring input positions
    extent3 src_row_strides{0, 0, 0}; ///< bytes of src between neighbouring output positions
    extent3 src_tap_strides{0, 0, 0}; ///< bytes of src between neighbouring taps
    extent3 dst_strides{0, 0, 0};     ///< elements of dst between neighbouring output positions
    dim_t src_element_bytes = 1;
    dim_t src_channel_stride = 1; ///< bytes
    dim_t position_bytes = 1;     ///< of the channels of one source position, all groups
    stored_weights weights;
    dim_t groups = 1; ///< stored groups that each outer index multiplies (a matmul has one per batch)

    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    jit::epilogue_shape columns{1, 1, jit::any_s32};
    dim_t prefetched_bytes = 0; ///< primitive_attr::set_prefetched_bytes

    bool flips_source() const { return src.data_type == data_type::s8; }
    bool sums_f32() const { return src.data_type == data_type::f32; }
    jit::dot_products products() const {
        return !sums_f32()               ? jit::dot_products::codes
               : packed().multiplies_own ? jit::dot_products::own_floats
                                         : jit::dot_products::floats;
    }
    /// Channels of one position are neighbours in memory.
    bool has_dense_positions() const {
        return src_channel_stride == src_element_bytes || position_bytes == src_element_bytes;
    }
    /// Stored groups are four of 4 channels, whose columns are a vector of 16 at most
    /// (`jit::dot_products::grouped_codes`).
    bool has_quads_of_groups() const {
        return products() == jit::dot_products::codes && packed().merged == jit::grouped_quads &&
               packed().i_per_member == packed_i_block && packed().fused_width == 1 &&
               packed().o <= packed_o_block;
    }
    /// Bytes that one tap of a stored group reads of a row.
    dim_t tap_bytes() const {
        return packed().multiplies_own ? packed_i_block : packed().i * packed().element_bytes;
    }
    /// Bytes of a position in front of the channels that a stored group reads.
    dim_t group_bytes() const { return packed().merged * packed().i_per_member * src_element_bytes; }
    const packed_geometry &packed() const { return weights.geometry(); }
    dim_t outer() const { return static_cast<dim_t>(src_outer.size()); }
    /// Some tap of some row lies outside the image.
    bool reads_outside() const;
};

/// Why the dot kernel can't take the problem, or empty.
std::string refuses_dot(const convolution_problem &p);
std::string refuses_dot(const matmul_problem &p);

dot_geometry dot_geometry_of(const convolution_problem &p);
dot_geometry dot_geometry_of(const matmul_problem &p);

} // namespace octet::impl
