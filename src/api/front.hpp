#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of all fronts: their beginning (a request is well formed, its tensors are tensors, `any`
// gets a layout) and their end (the checked problem becomes a primitive descriptor). Between the two stands
// the part of one operation: how its shapes fit together, and how each rule reads its attributes. To read a
// front, start at its `make`.

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "api/attributes/arguments.hpp"
#include "api/lowering.hpp"
#include "api/primitive_desc.hpp"
#include "cpu/choice/registry.hpp"
#include "octet/engine.hpp"

namespace octet::impl {

/// The arguments of every operation besides its own descriptor.
struct request {
    const char *operation; ///< "convolution": for messages, verbose lines and keys
    const primitive_attr &attr;
    const engine &where;
    bool allow_empty;                  ///< null instead of an error if nobody takes the problem
    bool is_trial = false;             ///< at sizes that nobody asked for: not worth a line of verbose mode
    bool is_of_dynamic_source = false; ///< knows set_source_quantization and values with groups
    bool takes_rnn_parameters = false; ///< quantization of recurrent networks
};

// ---- the beginning

/// Checks the engine and runs the rest of a front. An error that `allow_empty` forgives gives null; a failed
/// allocation becomes `out_of_memory`.
primitive_desc_ptr run_front(const request &r, const std::function<primitive_desc_ptr()> &front);

/// Throws `invalid_arguments` for anything but a forward pass.
void require_forward(const char *operation, prop_kind prop);
/// Throws `invalid_arguments` unless the algorithm lies in the range; `allowed` names the range in the message.
void require_algorithm(const char *operation, algorithm given, algorithm first, algorithm last,
                       const char *allowed);
/// The same for all algorithms whose names begin with `family`.
void require_algorithm(const char *operation, algorithm given, const char *family);
/// Throws `invalid_arguments` for a missing or impossible tensor, or one of another rank.
void require_tensor(const char *operation, const char *name, const memory_desc &md, int min_ndims,
                    int max_ndims);
/// Throws `unimplemented` unless the tensor's type is one of `allowed`.
void require_type(const char *operation, const char *name, const memory_desc &md,
                  std::initializer_list<data_type> allowed);
/// The same for numbers that are computed with as f32 or s32: f32, bf16, f16, s32, s8, u8.
void require_numbers(const char *operation, const char *name, const memory_desc &md);
/// Throws `invalid_arguments` for a packed layout.
void require_plain(const char *operation, const char *name, const memory_desc &md);
/// Throws `invalid_arguments` for a destination in which two elements share an address.
void require_no_overlap(const char *operation, const memory_desc &dst);
/// Resolves `any` to channels-last (or row-major up to two dimensions).
void resolve_activation_layout(memory_desc &md);

// ---- the end

/// The tensors of a problem, layouts resolved, by execution argument.
using tensor_map = std::map<int, const memory_desc *>;

/// An implementation that takes the problem.
struct chosen_implementation {
    const char *name = nullptr; ///< null: none
    std::function<std::shared_ptr<const kernel>()> create;
    std::vector<std::string> refusals;
    machine here;                    ///< the machine for which the plan divides the work; part of the key
    memory::desc described_dst = {}; ///< as in primitive_description
};
/// Null without an implementation, if the request allows that; else throws `unimplemented` with all reasons.
primitive_desc_ptr make_primitive_desc(const request &r, const tensor_map &tensors, std::string parameters,
                                       chosen_implementation chosen);

/// The line of verbose mode.
void log_creation(const primitive_description &data);

/// `parameters`: what the problem has besides tensors and attributes, "strides:1x1 dilates:0x0": a part of its text
/// and of its key.
template <typename Problem>
primitive_desc_ptr make_primitive_desc(const request &r, const tensor_map &tensors, std::string parameters,
                                       const Problem &problem) {
    selection<Problem> choice = select(problem);
    return make_primitive_desc(r, tensors, std::move(parameters),
                               {choice.name, [taken = choice.taken] { return taken.make(); },
                                std::move(choice.refusals), choice.here});
}

} // namespace octet::impl
