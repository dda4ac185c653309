#pragma once // SPDX-License-Identifier: Apache-2.0

// Every fact about a post-op that other code asks for, one row per alternative of post_op_entry, in its order, as
// rules.hpp has for rules. Nobody else lists post-ops: a list of those that read a tensor is right until the next
// post-op comes. What a post-op computes is in bound_epilogue.cpp, and for vectors in jit/epilogue/post_ops.cpp. Adding
// one: CONTRIBUTING.md.

#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <variant>

#include "octet/primitive_attr.hpp"

namespace octet::impl {

struct post_op_facts {
    std::size_t alternative; ///< index in post_op_entry
    const char *name;        ///< in texts, where it has no algorithm whose name stands there
    primitive_kind kind;     ///< in oneDNN's vocabulary, which lacks the integer stages
    bool gives_f32;          ///< else s32
    bool reads_dst;          ///< reads the former value of the destination
    bool adds_codes;         ///< adds codes of an 8-bit destination
    int operand;             ///< the tensor that it reads, OR'ed with the post-op's number; 0: none

    constexpr bool reads_tensors() const { return reads_dst || operand != 0; }
};

namespace post_op_rows {

/// The index of a type in a variant.
template <typename Op, typename... Ops> constexpr std::size_t index_in(const std::variant<Ops...> *) {
    constexpr bool is_same[] = {std::is_same_v<Op, Ops>...};
    std::size_t i = 0;
    while (!is_same[i])
        i++;
    return i;
}
template <typename Op>
constexpr std::size_t index_of = index_in<Op>(static_cast<const post_op_entry *>(nullptr));

constexpr auto none = primitive_kind::undef;

// clang-format off
inline constexpr post_op_facts table[] = {
    //                                                                     gives  reads  adds
    //                                                                     f32    dst    codes  operand
    {index_of<post_op::sum>,          "sum",     primitive_kind::sum,      true,  true,  false, 0},
    {index_of<post_op::eltwise>,      "eltwise", primitive_kind::eltwise,  true,  false, false, 0},
    {index_of<post_op::binary>,       "binary",  primitive_kind::binary,   true,  false, false, OCTET_ARG_SRC_1},
    {index_of<post_op::prelu>,        "prelu",   primitive_kind::prelu,    true,  false, false, OCTET_ARG_WEIGHTS},
    {index_of<post_op::clip>,         "clip",         none,                false, false, false, 0},
    {index_of<post_op::add>,          "add",          none,                false, false, false, 0},
    {index_of<post_op::rescaled_sum>, "rescaled_sum", none,                false, true,  false, 0},
    {index_of<post_op::leaky_relu>,   "leaky_relu",   none,                false, false, false, 0},
    {index_of<post_op::table>,        "table",        none,                false, false, false, 0},
    {index_of<post_op::qlinear_add>,  "qlinear_add",  none,                true,  true,  true,  0},
    {index_of<post_op::scaled_add>,   "scaled_add",   none,                false, true,  true,  0},
    {index_of<post_op::depthwise>,    "dw", primitive_kind::convolution,   true,  false, false, 0},
};
// clang-format on

constexpr bool are_in_order() {
    for (std::size_t i = 0; i < std::size(table); i++)
        if (table[i].alternative != i)
            return false;
    return std::size(table) == std::variant_size_v<post_op_entry>;
}
static_assert(are_in_order(), "each post-op has a row, which is found by its number in post_op_entry");

} // namespace post_op_rows

inline constexpr auto &post_op_table = post_op_rows::table;

constexpr const post_op_facts &facts_of(const post_op_entry &entry) { return post_op_table[entry.index()]; }

/// The argument that post-op `index` of a chain reads, or 0.
constexpr int operand_of(const post_op_entry &entry, int index) {
    const int operand = facts_of(entry).operand;
    return operand == 0 ? 0 : OCTET_ARG_ATTR_MULTIPLE_POST_OP(index) | operand;
}

/// Return the entry as a post-op of one kind, null for all others. Other code asks here and names no kind.
///@{
inline const post_op::sum *stored_sum_of(const post_op_entry &entry) {
    return std::get_if<post_op::sum>(&entry);
}
inline const post_op::eltwise *function_of(const post_op_entry &entry) {
    return std::get_if<post_op::eltwise>(&entry);
}
inline const post_op::clip *limits_of(const post_op_entry &entry) {
    return std::get_if<post_op::clip>(&entry);
}
inline const post_op::add *addend_of(const post_op_entry &entry) { return std::get_if<post_op::add>(&entry); }
inline const post_op::table *table_of(const post_op_entry &entry) {
    return std::get_if<post_op::table>(&entry);
}
inline const post_op::qlinear_add *sum_of_reals_of(const post_op_entry &entry) {
    return std::get_if<post_op::qlinear_add>(&entry);
}
inline const post_op::scaled_add *sum_of_codes_of(const post_op_entry &entry) {
    return std::get_if<post_op::scaled_add>(&entry);
}
/// An operation of its own: no stage of an epilogue, whose chains it ends.
inline const post_op::depthwise *depthwise_of(const post_op_entry &entry) {
    return std::get_if<post_op::depthwise>(&entry);
}
///@}

/// Negative integers become 0.
inline post_op_entry integer_relu() { return post_op::clip{0, std::numeric_limits<std::int32_t>::max()}; }

/// The dimensions that the weights of a post-op vary over, for weights whose shape follows from the destination's.
inline std::optional<int> weights_mask_of(const post_op_entry &entry) {
    const auto *op = std::get_if<post_op::prelu>(&entry);
    return op ? std::optional<int>(op->mask) : std::nullopt;
}

namespace post_op_members {
template <typename Op, typename = void> constexpr bool has_type = false;
template <typename Op> constexpr bool has_type<Op, std::void_t<decltype(Op::type)>> = true;
template <typename Op, typename = void> constexpr bool has_algorithm = false;
template <typename Op> constexpr bool has_algorithm<Op, std::void_t<decltype(Op::algorithm)>> = true;
} // namespace post_op_members

/// The type that a post-op reads the destination as, `undef` for its own; nothing where it has no choice.
inline std::optional<data_type> type_of_dst_before(const post_op_entry &entry) {
    return std::visit(
        [&](const auto &op) -> std::optional<data_type> {
            if constexpr (post_op_members::has_type<std::decay_t<decltype(op)>>)
                if (facts_of(entry).reads_dst)
                    return op.type;
            return {};
        },
        entry);
}

/// The algorithm of a post-op that has several; else `undef`.
inline algorithm algorithm_of(const post_op_entry &entry) {
    return std::visit(
        [](const auto &op) {
            if constexpr (post_op_members::has_algorithm<std::decay_t<decltype(op)>>)
                return op.algorithm;
            else
                return algorithm::undef;
        },
        entry);
}

/// The tensor that a post-op describes, which has any type and any shape that is broadcast; null for others. (Weights
/// of prelu follow from the destination.)
///@{
inline memory_desc *src1_of(post_op_entry &entry) {
    auto *op = std::get_if<post_op::binary>(&entry);
    return op ? &op->src1.data : nullptr;
}
inline const memory_desc *src1_of(const post_op_entry &entry) {
    const auto *op = std::get_if<post_op::binary>(&entry);
    return op ? &op->src1.data : nullptr;
}
///@}

} // namespace octet::impl
