// Everything of an epilogue that decides the emitted code, as a key; and its name, for people.
// SPDX-License-Identifier: Apache-2.0
#include "common/element.hpp"
#include "common/text.hpp"
#include "jit/base/key.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

namespace {

/// All numbers of a post-op are in its code, but for those that are planes or arguments.
struct post_op_key {
    key_writer &to;

    template <typename Op> void operator()(const Op &op) { to.add(op); }
    void operator()(const post_op::binary &op) { to.add(op.algorithm, op.src1.data.data_type); }
    void operator()(const post_op::prelu &) {}
};

const char *name_of(const post_op_entry &entry) {
    if (const auto *op = std::get_if<post_op::eltwise>(&entry))
        return to_string(op->algorithm);
    if (const auto *op = std::get_if<post_op::binary>(&entry))
        return to_string(op->algorithm);
    return facts_of(entry).name;
}

} // namespace

std::string epilogue_plan::code_key() const {
    key_writer to;
    to.add(rule_, e_.dst.data_type, planes_, bytes_, is_bounded_);
    if (bytes_.table >= 0)
        to.add(std::get<post_op::table>(e_.post_ops[bytes_.table]));
    for (int i = 0; i < emitted_post_ops_; i++) {
        to.add(e_.post_ops[i].index(), reads_row_value(i));
        std::visit(post_op_key{to}, e_.post_ops[i]);
    }
    return to.key();
}

std::string epilogue_plan::name() const {
    std::string name = to_string(e_.rule);
    for (int i = 0; i < emitted_post_ops_; i++)
        name += text("+", name_of(e_.post_ops[i]));
    if (bytes_.table >= 0)
        name += "+lookup";
    return text(name, "-", to_string(e_.dst.data_type));
}

} // namespace octet::impl::jit
