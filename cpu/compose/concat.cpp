#include "cpu/compose/concat.hpp"

namespace octet::impl {

namespace {

class concat_kernel : public kernel {
public:
    explicit concat_kernel(const std::vector<selection<reorder_problem>> &parts) {
        for (const selection<reorder_problem> &part : parts)
            parts_.push_back(part.taken.make());
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

private:
    std::vector<std::shared_ptr<const kernel>> parts_;
};

std::vector<selection<reorder_problem>> parts_of(const concat_problem &p) {
    std::vector<selection<reorder_problem>> parts;
    for (const reorder_problem &part : p.parts)
        parts.push_back(select(part));
    return parts;
}

} // namespace

offer plan_concat(const concat_problem &p, const machine &) {
    const auto parts = parts_of(p);
    for (const selection<reorder_problem> &part : parts)
        if (part.chosen->needs == cpu_isa::ref)
            return offer::refused("a part that runs on ref");
    return offer([parts] { return std::make_shared<concat_kernel>(parts); });
}

offer plan_concat_on_reference(const concat_problem &p, const machine &) {
    return offer([parts = parts_of(p)] { return std::make_shared<concat_kernel>(parts); });
}

} // namespace octet::impl
