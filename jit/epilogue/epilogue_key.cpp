// Everything of an epilogue that decides the emitted code, as a key; and its name, for people.
// SPDX-License-Identifier: Apache-2.0
#include "common/element.hpp"
#include "common/text.hpp"
#include "jit/base/key.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

namespace {

/// All numbers of a post-op are in its code, but for those that are parameter vectors or arguments.
void add_post_op(key_writer &to, const post_op_entry &entry) {
    const memory_desc *src1 = src1_of(entry);
    to.add(entry.index(), algorithm_of(entry), src1 ? src1->data_type : data_type::undef);
    std::visit(
        [&](const auto &op) {
            if constexpr (post_op_table[post_op_rows::index_of<std::decay_t<decltype(op)>>].operand == 0)
                to.add(op);
        },
        entry);
}

const char *name_of(const post_op_entry &entry) {
    const algorithm alg = algorithm_of(entry);
    return alg == algorithm::undef ? facts_of(entry).name : to_string(alg);
}

} // namespace

std::string epilogue_plan::code_key() const {
    key_writer to;
    to.add(rule_, e_.dst.data_type, params_, bytes_, is_bounded_);
    if (bytes_.table >= 0)
        to.add(*table_of(e_.post_ops[bytes_.table]));
    for (int i = 0; i < emitted_post_ops_; i++) {
        to.add(reads_row_value(i));
        add_post_op(to, e_.post_ops[i]);
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
