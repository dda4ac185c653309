// Copies the node and its tensors into a graph of their own, where the varying input is the network's.

#include "network/run/evaluate.hpp"

#include "octet/network.hpp"

namespace octet::model {

std::vector<std::uint8_t> evaluate(const graph &g, const node &n, std::size_t varying,
                                   const std::vector<std::uint8_t> &values,
                                   const std::optional<memory::dims> &dims) {
    graph one;
    one.framework = g.framework;
    const auto add = [&](int &t) {
        if (t < 0)
            return;
        one.tensors.push_back(g.tensors.at(static_cast<std::size_t>(t)));
        t = static_cast<int>(one.tensors.size() - 1);
    };
    node copy = n;
    for (int &t : copy.inputs)
        add(t);
    for (int &t : copy.outputs)
        add(t);
    const int src = copy.inputs.at(varying), dst = copy.outputs.at(0);
    tensor &x = one.tensors.at(static_cast<std::size_t>(src));
    x.is_constant = false;
    x.data.clear();
    if (dims)
        for (const int t : {src, dst}) {
            one.tensors[static_cast<std::size_t>(t)].dims = *dims;
            one.tensors[static_cast<std::size_t>(t)].is_channels_last = false;
        }
    one.inputs = {src};
    one.outputs = {dst};
    one.nodes = {std::move(copy)};

    network net(std::move(one));
    net.tensor(src).copy_bytes_from(values.data(), values.size());
    net.run();
    const tensor_view result = net.tensor(dst);
    const auto *bytes = static_cast<const std::uint8_t *>(result.data());
    return {bytes, bytes + result.size_in_bytes()};
}

} // namespace octet::model
