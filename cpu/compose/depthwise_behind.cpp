// The second kernel reads the first one's result as its src, and its other tensors under their fused names.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/depthwise_behind.hpp"

#include <array>

#include "cpu/machine/scratch.hpp"

namespace octet::impl {

namespace {

class fused_kernel : public kernel {
public:
    fused_kernel(std::shared_ptr<const kernel> first, std::shared_ptr<const kernel> second,
                 std::size_t bytes_between, std::vector<std::pair<int, int>> names)
        : first_(std::move(first)), second_(std::move(second)), bytes_between_(bytes_between),
          names_(std::move(names)) {}

    void execute(const arguments &args) const override {
        void *between = thread_scratch(scratch_slot::between_convolutions, bytes_between_);
        first_->execute(arguments(args, OCTET_ARG_DST, between));
        std::array<primitive::argument, max_post_ops + 4> tensors;
        std::size_t count = 0;
        tensors[count++] = {OCTET_ARG_SRC, between};
        tensors[count++] = {OCTET_ARG_DST, args.get(OCTET_ARG_DST)};
        for (const auto &[own, fused] : names_)
            tensors[count++] = {own, args.get(fused)};
        second_->execute(arguments(tensors.data(), count));
    }
    std::size_t size_bytes() const override {
        return sizeof *this + first_->size_bytes() + second_->size_bytes();
    }
    std::string plan() const override { return first_->plan() + "; then " + second_->plan(); }

private:
    const std::shared_ptr<const kernel> first_, second_;
    const std::size_t bytes_between_;
    const std::vector<std::pair<int, int>> names_;
};

} // namespace

std::shared_ptr<const kernel> depthwise_behind(std::shared_ptr<const kernel> first,
                                               std::shared_ptr<const kernel> second,
                                               std::size_t bytes_between,
                                               std::vector<std::pair<int, int>> names) {
    return std::make_shared<fused_kernel>(std::move(first), std::move(second), bytes_between,
                                          std::move(names));
}

} // namespace octet::impl
