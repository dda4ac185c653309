// Copies the node and its tensors into a graph of their own, where the varying input is the network's, and lowers
// that one node. It is not a network, so nothing here leads back to one.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/evaluate.hpp"

#include <cstring>

#include "network/run/on_behalf_of.hpp"
#include "network/runtime.hpp"

namespace octet::model {
namespace {

/// The node as the only one of a graph whose input is the input `varying`.
graph alone(const graph &g, const node &n, std::size_t varying, const std::optional<memory::dims> &dims) {
    graph one;
    one.framework = g.framework;
    one.opset = g.opset;
    one.nodes = {n};
    node &copy = one.nodes.front();
    for (tensor_numbers *const list : {&copy.inputs, &copy.outputs})
        for (std::size_t k = 0; k < list->size(); k++)
            if (const tensor_id t = tensor_ids(*list)[k])
                (*list)[k] = add_tensor(one, tensor_at(g, t));
    one.inputs = {copy.inputs.at(varying)};
    one.outputs = {copy.outputs.at(0)};
    tensor &x = tensor_at(one, inputs_of(one)[0]);
    x.is_constant = false;
    x.data = {};
    if (dims)
        for (const tensor_id t : {inputs_of(one)[0], outputs_of(one)[0]}) {
            tensor_at(one, t).dims = *dims;
            tensor_at(one, t).is_channels_last = false;
        }
    return one;
}

std::vector<std::uint8_t> run(const graph &one, const shared_bytes &values, const runtime &under) {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const evaluator none;
    packed_weights unshared;
    jobs work;
    packing weights(unshared, work, 0);
    tensor_buffers buffers(one, weights);
    const node &n = one.nodes.front();
    if (!facts_of(one, n).lower)
        refuse_as_unimplemented("the operator cannot run");
    const std::unique_ptr<step> lowered =
        under.lower(lowering(n, one, buffers, cpu, requantization_rule::automatic, none));
    const memory_plan plan = buffers.place();
    lowered->make_primitives();
    work.finish();
    const run_memory memory(plan);
    const buffer input = buffers.get(inputs_of(one)[0]), output = buffers.get(outputs_of(one)[0]);
    if (input.get_desc().get_size() != values.size())
        refuse("input of " + std::to_string(input.get_desc().get_size()) + " bytes, given are " +
               std::to_string(values.size()));
    std::memcpy(memory.at(input), values.data(), values.size());
    lowered->run(s, memory);
    s.wait();
    const auto *bytes = memory.at<std::uint8_t>(output);
    return {bytes, bytes + output.get_desc().get_size()};
}

} // namespace

std::vector<std::uint8_t> evaluate(const graph &g, const node &n, std::size_t varying,
                                   const shared_bytes &values, const std::optional<memory::dims> &dims) {
    return evaluator_under(std::make_shared<runtime>())(g, n, varying, values, dims);
}

evaluator evaluator_under(std::shared_ptr<const runtime> under) {
    return [under = std::move(under)](const graph &g, const node &n, std::size_t varying,
                                      const shared_bytes &values, const std::optional<memory::dims> &dims) {
        const graph one = alone(g, n, varying, dims);
        return on_behalf_of(one, 0, [&] { return run(one, values, *under); });
    };
}

} // namespace octet::model
