// Runs one reorder for each source.

#include "cpu/compose/concat.hpp"

namespace octet::impl {

namespace {

class concat_kernel : public kernel {
public:
    explicit concat_kernel(const std::vector<candidate> &parts) {
        for (const candidate &part : parts)
            parts_.push_back(part.make());
    }

    void execute(const arguments &args) const override {
        for (std::size_t i = 0; i < parts_.size(); i++) {
            void *const src = args.get(OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i));
            parts_[i]->execute(arguments(args, OCTET_ARG_SRC, src));
        }
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this;
        for (const auto &part : parts_)
            bytes += part->size_bytes();
        return bytes;
    }

    std::string plan() const override {
        std::string plans;
        for (const auto &part : parts_)
            append_plan(plans, *part);
        return plans;
    }

private:
    std::vector<std::shared_ptr<const kernel>> parts_;
};

} // namespace

candidate concatenation(const std::vector<candidate> &parts) {
    return candidate([parts] { return std::make_shared<concat_kernel>(parts); });
}

} // namespace octet::impl
