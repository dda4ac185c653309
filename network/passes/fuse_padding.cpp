// Padding before convolutions; see fusion.hpp. A convolution pads for nothing, because it gathers its rows anyway,
// while a padded copy of the image costs as much as reading it again.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/passes/fusion.hpp"

namespace octet::model {
namespace {

class padding_fusion {
public:
    explicit padding_fusion(graph &g) : e_(g) {}

    void run() {
        for (std::size_t n = 0; n < e_.node_count(); n++)
            if (const node_id i(n); !e_.is_removed(i))
                absorb_padding(i);
        e_.finish();
    }

private:
    const tensor &at(tensor_id t) const { return e_.tensor_at(t); }
    const operator_facts &facts(const node &n) const { return facts_of(e_.get_graph(), n); }

    /// Whether it pads pixels alone, as a convolution can.
    static bool is_spatial(const image_padding &p, std::size_t rank) {
        if (p.before.size() != rank || p.after.size() != rank || rank < 3)
            return false;
        const auto is_negative = [](dim_t n) { return n < 0; };
        return p.before[0] == 0 && p.after[0] == 0 && p.before[p.channels] == 0 && p.after[p.channels] == 0 &&
               std::none_of(p.before.begin(), p.before.end(), is_negative) &&
               std::none_of(p.after.begin(), p.after.end(), is_negative);
    }

    void absorb_padding(node_id i) {
        const node &conv = e_.at(i);
        const auto takes_padding = facts(conv).takes_padding;
        if (!takes_padding)
            return;
        const tensor_id x = e_.input(i, 0);
        const node_id before = e_.producer(x);
        if (!before || e_.only_consumer(x) != i)
            return;
        const node &pad = e_.at(before);
        if (!input_of(pad, 0) || !facts(pad).pads)
            return;
        const auto p = facts(pad).pads(e_.get_graph(), pad, conv);
        if (!p || !is_code(at(x).type) || !is_spatial(*p, at(x).dims.size()))
            return;
        node fused_host = conv;
        if (!takes_padding(fused_host, *p))
            return;
        fused_host.inputs[0] = pad.inputs[0];
        e_.remove(before);
        e_.replace(i, std::move(fused_host));
    }

    graph_editor e_;
};

} // namespace

void fuse_padding(graph &g) { padding_fusion(g).run(); }

} // namespace octet::model
