// Packs weights of 1 once, runs the products twice, and subtracts zw Σ (s - zs) with a task of the stream kernel.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/source_sums.hpp"

#include <algorithm>

#include "common/text.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/task_builder.hpp"
#include "cpu/weights/pack.hpp"
#include "cpu/weights/weights.hpp"

namespace octet::impl::source_sums {

memory_desc packed_weights_of(const convolution_problem &p) {
    memory_desc md = p.weights;
    if (md.format_kind != format_kind::packed)
        set_packed(md, p.weights_have_groups ? packed_kind::grouped_convolution : packed_kind::convolution,
                   p.dilation[2] == 1 && !p.is_inner_product);
    return md;
}

std::string refuses(const convolution_problem &p) {
    if (p.sums_f32() || !sums_source(p.weights, p.weights_zero_points))
        return "no weights zero points";
    const int mask = p.weights_zero_points.values.mask, channels = p.weights_have_groups ? 3 : 1;
    if (mask != 0 && mask != channels)
        return text("weights zero points with mask ", mask);
    return {};
}

namespace {

class source_sums_kernel : public kernel {
public:
    source_sums_kernel(const memory_desc &given, const memory_desc &packed, const memory_desc &sums,
                       std::shared_ptr<const kernel> weighted, std::shared_ptr<const kernel> plain,
                       std::shared_ptr<const kernel> rest, instruction_set isa)
        : given_(given), packed_(packed), isa_(isa), sum_bytes_(div_up(size_in_bytes(sums), 64) * 64),
          weighted_(std::move(weighted)), plain_(std::move(plain)), rest_(std::move(rest)),
          ones_(size_in_bytes(packed)) {
        memory_desc dense = packed;
        dense.data_type = data_type::s8;
        memory_desc stored = dense;
        set_row_major(dense);
        const std::vector<std::int8_t> ones(size_in_bytes(dense), 1);
        pack_weights(dense, ones.data(), stored, ones_.data(), isa);
    }

    void execute(const arguments &args) const override {
        auto *sums = static_cast<std::uint8_t *>(thread_scratch(scratch_slot::between_steps, 2 * sum_bytes_));
        std::uint8_t *source_sums = sums + sum_bytes_;
        run(*weighted_, args, packed_weights(args), sums);
        run(*plain_, args, const_cast<std::int8_t *>(ones_.data()), source_sums); // kernels only read weights
        const arguments with_sums(args, OCTET_ARG_SRC, sums);
        rest_->execute(arguments(with_sums, OCTET_ARG_SRC_1, source_sums));
    }

    std::size_t size_bytes() const override {
        return sizeof *this + ones_.size() + weighted_->size_bytes() + plain_->size_bytes() +
               rest_->size_bytes();
    }

    std::string plan() const override {
        return text(weighted_->plan(), "; sums of the source by products with 1: ", plain_->plan(), "; then ",
                    rest_->plan());
    }

private:
    static void run(const kernel &products, const arguments &args, void *weights, void *dst) {
        const arguments with_weights(args, OCTET_ARG_WEIGHTS, weights);
        products.execute(arguments(with_weights, OCTET_ARG_DST, dst));
    }

    void *packed_weights(const arguments &args) const {
        if (given_.format_kind == format_kind::packed)
            return args.get(OCTET_ARG_WEIGHTS);
        void *packed = thread_scratch(scratch_slot::packed_weights, size_in_bytes(packed_));
        pack_weights(given_, args.get(OCTET_ARG_WEIGHTS), packed_, packed, isa_);
        return packed;
    }

    const memory_desc given_, packed_;
    const instruction_set isa_;
    const dim_t sum_bytes_;
    const std::shared_ptr<const kernel> weighted_, plain_, rest_;
    std::vector<std::int8_t> ones_; ///< packed weights of 1
};

/// The zero point of the stored weights of each channel.
stream::param_vector zero_points_of(const convolution_problem &p) {
    const stored_weights weights(p.weights, packed_weights_of(p), p.weights_zero_points);
    return {1 << 1, p.weights_zero_points.values.runtime,
            [weights](const arguments &args, const coordinates &at, int) {
                return static_cast<std::uint32_t>(stored_weights::bound_zero_points(weights, args)[at[1]]);
            }};
}

} // namespace

candidate in_steps(const convolution_problem &p, const memory_desc &packed, const candidate &weighted,
                   const candidate &plain, const memory_desc &sums, const machine &m) {
    const candidate rest =
        separate_epilogue::plan_rest(p.out_stage, sums, 1, m, [&](stream::task_builder &b) {
            b.load(sums, OCTET_ARG_SRC_1);
            b.step(jit::stream_op::multiply_s32, b.add_params(zero_points_of(p)));
            b.step(jit::stream_op::subtract_pair);
        });
    for (const candidate &step : {weighted, plain, rest})
        if (step.is_refused())
            return step;
    return candidate([=, given = p.weights, isa = m.isa] {
        return std::make_shared<source_sums_kernel>(given, packed, sums, weighted.make(), plain.make(),
                                                    rest.make(), isa);
    });
}

} // namespace octet::impl::source_sums
