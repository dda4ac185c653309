// The list of operations. Each row stands at the end of the operation's front, src/api/NAME.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "api/operation.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {

#define OCTET_OPERATIONS(ROW)                                                                                \
    ROW(convolution)                                                                                         \
    ROW(deconvolution)                                                                                       \
    ROW(inner_product)                                                                                       \
    ROW(matmul)                                                                                              \
    ROW(reorder)                                                                                             \
    ROW(pooling)                                                                                             \
    ROW(eltwise)                                                                                             \
    ROW(binary)                                                                                              \
    ROW(softmax)                                                                                             \
    ROW(logsoftmax)                                                                                          \
    ROW(lrn)                                                                                                 \
    ROW(shuffle)                                                                                             \
    ROW(resampling)                                                                                          \
    ROW(sum)                                                                                                 \
    ROW(concat)                                                                                              \
    ROW(prelu)                                                                                               \
    ROW(batch_normalization)                                                                                 \
    ROW(layer_normalization)                                                                                 \
    ROW(reduction)                                                                                           \
    ROW(rnn)

#define OCTET_DECLARE(NAME) const described_operation &NAME##_operation();
OCTET_OPERATIONS(OCTET_DECLARE)
#undef OCTET_DECLARE

const std::vector<const described_operation *> &all_operations() {
#define OCTET_ROW(NAME) &NAME##_operation(),
    static const std::vector<const described_operation *> all{OCTET_OPERATIONS(OCTET_ROW)};
#undef OCTET_ROW
    return all;
}

const described_operation &operation_named(const std::string &name) {
    for (const described_operation *row : all_operations())
        if (name == row->name)
            return *row;
    std::string names;
    for (const described_operation *row : all_operations())
        names += text(names.empty() ? "" : ", ", row->name);
    throw_invalid("problem: operation '", name, "', allowed: ", names);
}

} // namespace impl

inline namespace v0 {

std::vector<example_problem> example_problems() {
    std::vector<example_problem> all;
    for (const impl::described_operation *row : impl::all_operations())
        all.insert(all.end(), row->examples.begin(), row->examples.end());
    return all;
}

} // namespace v0
} // namespace octet
