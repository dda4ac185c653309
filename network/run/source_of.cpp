// Returns the graph that a saved plan was made of.
// SPDX-License-Identifier: Apache-2.0
#include "network/dialect.hpp"
#include "network/saved/plan_file.hpp"
#include "network/shapes/known_shapes.hpp"

namespace octet {
inline namespace v0 {
namespace model {

graph source_of(const graph &g) {
    if (!g.saved)
        return g;
    graph source = g.saved->source;
    // Integers that follow from sizes are in no file.
    if (dialect_of(source.framework).infers_all)
        infer_shapes(source);
    else
        follow_shapes(source);
    return source;
}

} // namespace model
} // namespace v0
} // namespace octet
