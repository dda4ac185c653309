#include "cpu/compose/concat.hpp"

namespace octet::impl {

namespace {

class concat_kernel : public kernel {
public:
    explicit concat_kernel(const concat_problem &p) {
        for (const reorder_problem &part : p.parts)
            parts_.push_back(select(part).create(part));
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

} // namespace

std::string refuses_concat(const concat_problem &p, const machine &) {
    for (const reorder_problem &part : p.parts)
        if (select(part).chosen->needs == cpu_isa::ref)
            return "a part that runs on ref";
    return {};
}

std::shared_ptr<const kernel> create_concat(const concat_problem &p, const machine &) {
    return std::make_shared<concat_kernel>(p);
}

} // namespace octet::impl
