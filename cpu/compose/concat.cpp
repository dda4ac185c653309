// Runs one reorder for each source.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/concat.hpp"

#include "cpu/several_kernels.hpp"

namespace octet::impl {

namespace {

class concat_kernel : public kernel {
public:
    explicit concat_kernel(const std::vector<candidate> &parts) : parts_(parts) {}

    void execute(const arguments &args) const override {
        for (std::size_t i = 0; i < parts_.count(); i++) {
            void *const src = args.get(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i));
            parts_[i].execute(arguments(args, OCTET_ARG_SRC, src));
        }
    }
    std::size_t size_bytes() const override { return sizeof *this + parts_.size_bytes(); }
    std::string plan() const override { return parts_.plans(); }

private:
    const several_kernels parts_;
};

} // namespace

candidate concatenation(const std::vector<candidate> &parts) {
    return candidate([parts] { return std::make_shared<concat_kernel>(parts); });
}

} // namespace octet::impl
