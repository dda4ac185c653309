#pragma once // SPDX-License-Identifier: Apache-2.0

// A computation in two steps: the second reads what the first left as its OCTET_ARG_SRC.

#include <memory>

#include "cpu/implementation.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl {

class two_step_kernel : public kernel {
public:
    two_step_kernel(const memory_desc &between, scratch_slot slot, std::shared_ptr<const kernel> first,
                    std::shared_ptr<const kernel> second)
        : bytes_(size_in_bytes(between)), slot_(slot), first_(std::move(first)), second_(std::move(second)) {}

    void execute(const arguments &args) const override {
        void *between = thread_scratch(slot_, bytes_);
        first_->execute(arguments(args, OCTET_ARG_DST, between));
        second_->execute(arguments(args, OCTET_ARG_SRC, between));
    }
    std::size_t size_bytes() const override {
        return sizeof *this + first_->size_bytes() + second_->size_bytes();
    }
    std::string plan() const override { return first_->plan() + "; then " + second_->plan(); }

private:
    const std::size_t bytes_;
    const scratch_slot slot_;
    const std::shared_ptr<const kernel> first_, second_;
};

/// A step may have two steps itself, in another slot.
inline candidate in_two_steps(const memory_desc &between, const candidate &first, const candidate &second,
                              scratch_slot slot = scratch_slot::between_steps) {
    if (first.is_refused() || second.is_refused())
        return first.is_refused() ? first : second;
    return candidate(
        [=] { return std::make_shared<two_step_kernel>(between, slot, first.make(), second.make()); });
}

} // namespace octet::impl
