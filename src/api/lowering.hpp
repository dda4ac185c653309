#pragma once

// The front's shared part: from attributes to an epilogue, with every check that concerns attributes.

#include <map>
#include <string>

#include "common/epilogue.hpp"
#include "common/problem.hpp"

namespace octet::impl {

/// What an operation lets its attributes do.
struct attribute_support {
    const char *operation;         ///< for messages
    bool accumulates = true;       ///< integer accumulator in, so every rule works
    bool weights = true;           ///< has a weights argument
    int weights_channel_mask = 0;  ///< mask over weights that selects one value per destination channel
    int dst_channel_mask = 1 << 1; ///< the same over dst
};

/// A source of sum or concat.
constexpr bool is_multiple_source(int arg) {
    return arg >= OCTET_ARG_MULTIPLE_SRC && arg < 2 * OCTET_ARG_MULTIPLE_SRC;
}

/// "src", "weights", …: the tensor of an execution argument, for messages.
std::string argument_name(int arg);

/// The rule that `automatic` stands for. `bias` as in `lower_epilogue`.
requantization_rule resolve_rule(const primitive_attr &attr, const memory_desc &dst, const memory_desc &bias);

/// Checks the attributes against the operation and lowers them. `bias` is the zero descriptor without one,
/// else in dst's rank. Throws `invalid_arguments` naming the attribute.
epilogue lower_epilogue(const attribute_support &support, const primitive_attr &attr, const memory_desc &dst,
                        const memory_desc &bias);

/// The post-ops, checked against the destination.
std::vector<post_op_entry> lower_post_ops(const attribute_support &support, const primitive_attr &attr,
                                          const memory_desc &dst);

/// Zero points of an input, checked against its dims. `allowed_masks_text` only appears in the message.
zero_points lower_zero_points(const attribute_support &support, const primitive_attr &attr, int arg,
                              const memory_desc &md);

/// Throws unless the number of values is the product of the masked dims.
template <typename T>
void check_masked(const attribute_support &support, const std::string &what, const masked_values<T> &values,
                  const memory_desc &md);

/// Throws `invalid_arguments` for attributes (by argument) that the operation does not have.
void reject_unknown_arguments(const attribute_support &support, const primitive_attr &attr,
                              const std::map<int, const memory_desc *> &known);

/// Execution arguments that the attributes add: run-time scales and zero points, post-op tensors, with
/// descriptors.
void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args);

/// "attr-oscale:2 attr-zero-points:src:0+dst:0 attr-post-ops:sum+eltwise_relu attr-rule:tflite_2step"
std::string attribute_text(const primitive_attr &attr);

} // namespace octet::impl
