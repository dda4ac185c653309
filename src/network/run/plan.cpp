// From a graph to a plan, in the order of `make_plan`.

#include "network/run/plan.hpp"

#include <map>
#include <new>

#include "network/lower/lowering.hpp"
#include "network/operators.hpp"
#include "network/passes/fold_integers.hpp"
#include "network/passes/fusion.hpp"
#include "network/passes/onnx_layout.hpp"
#include "network/passes/onnx_qdq.hpp"
#include "network/passes/onnx_quantization.hpp"
#include "network/run/evaluate.hpp"
#include "octet/float_environment.hpp"

namespace octet::model {
namespace {

std::string list(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Every node that cannot run in one sentence: the user sees at once what a network lacks. `reasons` are those of
/// operators on floats, by output tensor.
void check_operators(const graph &g, const std::map<int, std::string> &reasons) {
    std::vector<std::string> unsupported;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const operator_facts &facts = facts_of(g.framework, n.op);
        if (facts.lower && n.inputs.size() > facts.most_inputs)
            refuse(node_text(g, i) + ": has " + std::to_string(n.inputs.size()) +
                   " inputs, allowed are up to " + std::to_string(facts.most_inputs));
        if (facts.lower)
            continue;
        const auto reason = n.outputs.empty() ? reasons.end() : reasons.find(n.outputs[0]);
        unsupported.push_back(node_text(g, i) + (reason == reasons.end()
                                                     ? ""
                                                     : " (on floats, because " + reason->second + ")"));
    }
    if (!unsupported.empty())
        refuse_as_unimplemented("unsupported operators: " + list(unsupported) + "; supported are " +
                                list(executable_operators(g.framework)));
}

std::unique_ptr<step> lower(const lowering &l, const std::string &who) {
    try {
        return facts_of(l.get_graph().framework, l.get_node().op).lower(l);
    } catch (const error &e) {
        throw error(e.status, who + ": " + e.what());
    } catch (const std::bad_alloc &) {
        throw error(status::out_of_memory, who + ": not enough memory for its tensors");
    }
}

void apply_passes(graph &g, const network_options &options) {
    executable_operators(g.framework); // refuses an unknown framework
    check_graph(g);
    for (std::size_t i = 0; i < g.nodes.size(); i++) // before passes move them
        g.nodes[i].number = node_number(g, i);
    const bool is_onnx = g.framework == "onnx"; // floats stand for codes, images have two layouts
    if (is_onnx)
        fold_integers(g);
    check_operators(g, is_onnx ? fuse_qdq(g, evaluate) : std::map<int, std::string>());
    if (is_onnx)
        note_quantization(g);
    if (options.fusion)
        fuse_padding(g);
    if (is_onnx)
        assign_layouts(g);
    if (options.fusion)
        fuse_followers(g, options.rule);
}

} // namespace

std::shared_ptr<const plan> make_plan(model::graph g, const network_options &options) {
    const default_float_environment environment; // scales of rules and joined nodes are computed
    auto result = std::make_shared<plan>();
    result->graph = std::move(g);
    graph &own = result->graph; // steps and buffers refer to it
    apply_passes(own, options);

    const engine cpu(engine::kind::cpu, 0);
    const evaluator evaluating = evaluate;
    tensor_buffers buffers(own);
    for (std::size_t i = 0; i < own.nodes.size(); i++) {
        buffers.start_node(static_cast<int>(i));
        result->steps.push_back(
            lower(lowering(own.nodes[i], own, buffers, cpu, options.rule, evaluating), node_text(own, i)));
    }
    result->memory = buffers.place();
    for (std::size_t t = 0; t < own.tensors.size(); t++)
        result->buffers.push_back(buffers.find(static_cast<int>(t)));
    return result;
}

} // namespace octet::model
