#pragma once // SPDX-License-Identifier: Apache-2.0

// A deconvolution as convolutions. Outputs at a distance of the strides, a "phase", meet the same taps at
// neighbouring source positions: each phase is a convolution with stride 1 of a part of the kernel, whose
// destination is every stride-th position. Outputs that no tap reaches are a convolution of zeros. Phases of
// floats are divided where a tap leaves the image, so that none has padding: each has the taps that all its
// outputs meet.

#include <string>
#include <vector>

#include "common/deconvolution_problem.hpp"

namespace octet::impl {

struct deconvolution_phase {
    convolution_problem problem; ///< weights: packed, all or some taps of one part of `packed_in_parts`
    bool has_taps = true;        ///< else the problem reads one position of zeros, with zeros as weights
    dim_t weights_offset = 0;    ///< start of `part`, in bytes
    memory_desc part;            ///< the part of the packed weights that the phase reads
    extent3 first_tap{0, 0, 0};  ///< the first of the part's stored taps that the phase has
};

/// Why the phases can't take the problem, or empty; each phase may still be refused.
std::string refuses_phases(const deconvolution_problem &p);
std::vector<deconvolution_phase> phases_of(const deconvolution_problem &p);

} // namespace octet::impl
