#include "network/run/evaluate.hpp"

#include <cstring>

#include "network/run/network.hpp"

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
    const memory input = net.get_memory(src), output = net.get_memory(dst);
    if (input.get_desc().get_size() != values.size())
        throw error(status::invalid_arguments, "evaluate: " + std::to_string(values.size()) +
                                                   " bytes for an input of " +
                                                   std::to_string(input.get_desc().get_size()));
    std::memcpy(input.get_data_handle(), values.data(), values.size());
    net.run();
    const auto *bytes = output.map_data<std::uint8_t>();
    return {bytes, bytes + output.get_desc().get_size()};
}

} // namespace octet::model
