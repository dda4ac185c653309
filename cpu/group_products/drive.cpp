// What the kernel takes, and what is done around it: the codes of the source, weights that were not packed, and
// post-ops and types of dst as a second step.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/group_products/drive.hpp"

#include <algorithm>
#include <optional>

#include "common/combination.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/reorder_problem.hpp"
#include "common/text.hpp"
#include "cpu/group_products/group_products.hpp"
#include "cpu/group_products/quantize.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/stream/drive.hpp"
#include "cpu/two_steps.hpp"

namespace octet::impl::groups {

namespace {

/// Codes of 2 bits are packed as codes of 4, which kernels widen.
int packed_bits(data_type type) { return std::max(8 / elements_per_byte(type), 4); }
bool is_signed(data_type type) { return type == data_type::s8 || type == data_type::s4; }

group_problem product_of(const dynamic_matmul_problem &p) {
    group_problem g{std::max<dim_t>(p.rows(), 1), std::max<dim_t>(p.n(), 1), p.k(), p.group};
    g.weight_bits = packed_bits(p.weights.data_type);
    g.weights_are_signed = is_signed(p.weights.data_type);
    g.has_weight_zero_points = p.zero_points.is_set;
    g.source = p.source.code;
    g.has_source_zero_points = p.source_has_zero_points();
    g.source_has_groups = p.source_has_groups();
    g.order = p.order;
    g.has_bias = p.bias.ndims != 0;
    return g;
}

/// The layout alone matters: rows and the source do not.
group_problem product_of(const packing_problem &p) {
    group_problem g{1, std::max<dim_t>(p.weights.dims[1], 1), p.weights.dims[0], p.group};
    g.weight_bits = packed_bits(p.weights.data_type);
    g.weights_are_signed = is_signed(p.weights.data_type);
    g.has_weight_zero_points = p.zero_points.is_set;
    g.has_source_zero_points = has_packed_sums(p.packed);
    return g;
}

struct plain_weights {
    const memory_desc &md; ///< {…, K, N}
    dim_t group;
    const weight_values &scales, &zero_points;
};

void pack(const group_products &products, const plain_weights &w, const void *codes, const arguments &args,
          const char *operation, scale_signs signs, void *packed) {
    const int column = w.md.ndims - 1;
    const dim_t n = w.md.dims[column], groups = div_up(w.md.dims[column - 1], w.group);
    const std::vector<float> scales = w.scales.bind(args, groups, n);
    check_scales(operation, "scales of weights", scales.data(), scales.size(), signs);
    std::vector<std::int32_t> zero_points;
    if (w.zero_points.is_set) {
        const std::vector<float> given = w.zero_points.bind(args, groups, n);
        check_weight_zero_points(operation, "zero points of weights", given.data(), given.size(),
                                 w.md.data_type);
        zero_points.assign(given.begin(), given.end());
    }
    const dim_t first = w.md.offset0 / elements_per_byte(w.md.data_type);
    products.pack({static_cast<const std::uint8_t *>(codes) + first, 8 / elements_per_byte(w.md.data_type),
                   w.md.strides[column], w.md.strides[column - 1], scales.data(),
                   zero_points.empty() ? nullptr : zero_points.data(), 1, n},
                  packed);
}

class group_kernel : public kernel {
public:
    group_kernel(const dynamic_matmul_problem &p, instruction_set isa)
        : p_(p), operation_(text(p.operation, ": execute")), isa_(isa), products_(product_of(p), isa) {}

    void execute(const arguments &args) const override {
        if (p_.rows() == 0)
            return;
        const dim_t rows = p_.rows(), k = p_.k(), sets = p_.source_has_groups() ? p_.groups() : 1;
        auto *codes = scratch_of<std::uint8_t>(scratch_slot::source_codes, rows * k);
        auto *parameters = scratch_of<source_parameters>(scratch_slot::source_parameters, rows * sets);
        const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
        if (!p_.has_stored_values) {
            auto *packed = scratch_of<std::uint8_t>(scratch_slot::scaled_weights,
                                                    static_cast<dim_t>(products_.weights_bytes()));
            pack(products_, {p_.weights, p_.group, p_.scales, p_.zero_points}, weights, args,
                 operation_.c_str(),
                 facts_of(p_.order).has_negative_scales ? scale_signs::any : scale_signs::not_negative,
                 packed);
            weights = packed;
        }
        quantize_rows(p_, isa_, args.get<const void>(OCTET_ARG_SRC), codes, parameters);
        const float *bias =
            p_.bias.ndims == 0 ? nullptr : args.get<const float>(OCTET_ARG_BIAS) + p_.bias.offset0;
        products_.run({codes, k, parameters, weights, bias, args.get<float>(OCTET_ARG_DST) + p_.dst.offset0,
                       p_.dst.strides[p_.dst.ndims - 2]});
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override {
        return text(p_.source_text(), ", combined as ", to_string(p_.order), ", groups of ", p_.group,
                    p_.has_stored_values ? ", weights packed with scales" : ", weights packed in every run");
    }

private:
    const dynamic_matmul_problem p_;
    const std::string operation_;
    const instruction_set isa_;
    const group_products products_;
};

class packing_kernel : public kernel {
public:
    packing_kernel(const packing_problem &p, instruction_set isa) : p_(p), products_(product_of(p), isa) {}

    void execute(const arguments &args) const override {
        if (p_.weights.dims[1] == 0)
            return;
        pack(products_, {p_.weights, p_.group, p_.scales, p_.zero_points},
             args.get<const void>(OCTET_ARG_SRC), args, "reorder: execute", scale_signs::not_negative,
             args.get(OCTET_ARG_DST));
    }
    std::size_t size_bytes() const override { return sizeof *this; }
    std::string plan() const override { return "packs weights beside their scales"; }

private:
    const packing_problem p_;
    const group_products products_;
};

/// True if all rows of dst have one distance.
bool has_even_rows(const memory_desc &dst) {
    for (int d = 0; d + 2 < dst.ndims; d++)
        if (dst.dims[d] != 1 && dst.strides[d] != dst.strides[d + 1] * dst.dims[d + 1])
            return false;
    return dst.strides[dst.ndims - 1] == 1 || dst.dims[dst.ndims - 1] == 1;
}

/// Post-ops and the type of dst; packed weights have no other implementation, so this one takes all of them.
candidate second_step(const reorder_problem &p, const machine &m) {
    const candidate generated =
        m.isa.has_vectors() ? stream::plan(p, m) : candidate::refused("a level without vectors");
    return generated.is_refused() ? candidate([p] { return ref::create(p); }) : generated;
}

candidate refused_layout(const memory_desc &packed, bool has_sums) {
    return candidate::refused(text("weights packed ", has_sums ? "without" : "with", " sums of columns, ",
                                   memory::desc(packed).to_string(), ", as another level packs them"));
}

} // namespace

bool packs_sums(const dynamic_matmul_problem &p, const machine &m) {
    return p.source_has_zero_points() &&
           jit::group_codes_of(m.isa, packed_bits(p.weights.data_type)) != jit::group_codes::words;
}

candidate plan(const dynamic_matmul_problem &p, const machine &m) {
    const std::optional<order_of_groups> order = order_of_groups_for(p.order, p.source_has_groups());
    if (!order)
        return candidate::refused(text("combination ", to_string(p.order)));
    if (order->exact_zero_point != 0 && p.source.code != data_type::s8) // sums of words would be too large
        return candidate::refused(
            text("codes of type ", to_string(p.source.code), " with combination ", to_string(p.order)));
    if (p.has_stored_values && has_packed_sums(p.weights) != packs_sums(p, m))
        return refused_layout(p.weights, packs_sums(p, m));
    return in_floats(p, m, [](const dynamic_matmul_problem &floats, const machine &here) {
        return candidate([=] { return std::make_shared<group_kernel>(floats, here.isa); });
    });
}

candidate in_floats(const dynamic_matmul_problem &p, const machine &m,
                    plan_function<dynamic_matmul_problem> product) {
    if (p.dst.data_type == data_type::f32 && p.out_stage.post_ops.empty() && has_even_rows(p.dst))
        return product(p, m); // a dst of floats has no scale
    dynamic_matmul_problem floats = p;
    floats.dst.data_type = data_type::f32;
    set_row_major(floats.dst);
    reorder_problem rest;
    rest.src = floats.dst;
    rest.dst = p.dst;
    rest.out_stage = p.out_stage;
    return in_two_steps(floats.dst, product(floats, m), second_step(rest, m));
}

candidate plan_packed(const dynamic_matmul_problem &p, const machine &m) {
    if (!p.has_stored_values)
        return candidate::refused("weights in a plain layout");
    return plan(p, m);
}

candidate plan_packing(const packing_problem &p, const machine &m) {
    const bool has_sums = has_packed_sums(p.packed);
    if (has_sums && jit::group_codes_of(m.isa, packed_bits(p.weights.data_type)) == jit::group_codes::words)
        return refused_layout(p.packed, false);
    return candidate([p, m] { return std::make_shared<packing_kernel>(p, m.isa); });
}

} // namespace octet::impl::groups
