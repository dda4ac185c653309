// Makes a kernel for each phase and runs them one after the other on the same arguments.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/deconvolution.hpp"

#include <cstring>

#include "common/layout/packed.hpp"
#include "common/text.hpp"
#include "cpu/compose/deconvolution_plan.hpp"
#include "cpu/depthwise/drive.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/dot/geometry.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/weights/pack.hpp"

namespace octet::impl::deconvolution {

namespace {

candidate plan_phase(const convolution_problem &p, const machine &m) {
    return p.weights.packed_patches.height > 0 ? depthwise::plan(p, m) : dot::plan(p, m);
}

/// The bytes of stored weights that a phase multiplies, where these are not all of its part.
struct taken_taps {
    std::vector<dim_t> lines; ///< offsets in a block of output channels; none: all taps are taken
    dim_t line_bytes = 0, blocks = 0, block_bytes = 0;

    std::size_t size_bytes() const { return lines.size() * static_cast<std::size_t>(line_bytes * blocks); }
    std::int8_t *copied_from(const std::int8_t *part) const {
        auto *copy = static_cast<std::int8_t *>(thread_scratch(scratch_slot::taken_taps, size_bytes()));
        std::int8_t *to = copy;
        for (dim_t block = 0; block < blocks; block++, part += block_bytes)
            for (const dim_t line : lines) {
                std::memcpy(to, part + line, static_cast<std::size_t>(line_bytes));
                to += line_bytes;
            }
        return copy;
    }
};

taken_taps taken_taps_of(const deconvolution_phase &phase) {
    if (!phase.has_taps || same_dims(phase.problem.weights, phase.part))
        return {};
    const packed_geometry part = packed_geometry_of(phase.part);
    const extent3 &taken = phase.problem.kernel;
    const dim_t tap_bytes = part.block_bytes() / part.taps;
    const int ndims = phase.part.ndims, spatial_ndims = phase.problem.spatial_ndims;
    const dim_t columns = phase.part.dims[ndims - 1],
                rows = spatial_ndims > 1 ? phase.part.dims[ndims - 2] : 1;
    taken_taps taps{{}, taken[2] * tap_bytes, part.groups * part.o_blocks(), part.block_bytes()};
    for (dim_t kd = phase.first_tap[0]; kd < phase.first_tap[0] + taken[0]; kd++)
        for (dim_t kh = phase.first_tap[1]; kh < phase.first_tap[1] + taken[1]; kh++)
            taps.lines.push_back(((kd * rows + kh) * columns + phase.first_tap[2]) * tap_bytes);
    return taps;
}

class deconvolution_kernel : public kernel {
public:
    deconvolution_kernel(const deconvolution_problem &p, const std::vector<deconvolution_phase> &phases,
                         const std::vector<candidate> &convolutions, instruction_set isa)
        : weights_(p.weights), packed_weights_(packed_in_parts(p)), isa_(isa) {
        for (std::size_t i = 0; i < phases.size(); i++) {
            const deconvolution_phase &phase = phases[i];
            steps_.push_back(
                {convolutions[i].make(), phase.has_taps, phase.weights_offset, taken_taps_of(phase)});
            if (!phase.has_taps)
                zeros_.resize(size_in_bytes(phase.problem.weights));
        }
    }

    void execute(const arguments &args) const override {
        std::int8_t *weights = packed_weights(args);
        auto *zeros = const_cast<std::int8_t *>(zeros_.data()); // kernels only read their inputs
        for (const step &s : steps_) {
            std::int8_t *part = !s.has_taps ? zeros : weights + s.weights_offset;
            if (!s.taps.lines.empty())
                part = s.taps.copied_from(part);
            const arguments src(args, OCTET_ARG_SRC, s.has_taps ? args.get(OCTET_ARG_SRC) : zeros);
            s.convolution->execute(arguments(src, OCTET_ARG_WEIGHTS, part));
        }
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + zeros_.size();
        for (const step &s : steps_)
            bytes += sizeof s + s.taps.lines.capacity() * sizeof(dim_t) + s.convolution->size_bytes();
        return bytes;
    }

    std::string plan() const override {
        std::string plans;
        for (const step &s : steps_)
            append_plan(plans, *s.convolution);
        return text(steps_.size(), steps_.size() == 1 ? " convolution: " : " convolutions: ", plans);
    }

private:
    struct step {
        std::shared_ptr<const kernel> convolution;
        bool has_taps;
        dim_t weights_offset;
        taken_taps taps;
    };

    /// The user's packed weights, or a packed copy of plain ones.
    std::int8_t *packed_weights(const arguments &args) const {
        if (weights_.format_kind == format_kind::packed)
            return args.get<std::int8_t>(OCTET_ARG_WEIGHTS);
        void *packed = thread_scratch(scratch_slot::packed_weights, size_in_bytes(packed_weights_));
        pack_weights(weights_, args.get(OCTET_ARG_WEIGHTS), packed_weights_, packed, isa_);
        return static_cast<std::int8_t *>(packed);
    }

    const memory_desc weights_, packed_weights_;
    const instruction_set isa_;
    std::vector<step> steps_;
    std::vector<std::int8_t> zeros_; ///< source and weights of phases without taps
};

} // namespace

candidate plan(const deconvolution_problem &p, const machine &m) {
    std::string reason = refuses_dot(p);
    if (reason.empty())
        reason = refuses_phases(p);
    if (!reason.empty())
        return candidate::refused(reason);
    const std::vector<deconvolution_phase> phases = phases_of(p);
    std::vector<candidate> convolutions;
    for (const deconvolution_phase &phase : phases) {
        convolutions.push_back(plan_phase(phase.problem, m));
        if (convolutions.back().is_refused())
            return convolutions.back();
    }
    return candidate(
        [=, isa = m.isa] { return std::make_shared<deconvolution_kernel>(p, phases, convolutions, isa); });
}

} // namespace octet::impl::deconvolution
