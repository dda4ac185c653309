// Places of tensors and nodes: what compiles, and what is reported where one is missing.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>

#include "network/graph/graph_editor.hpp"

namespace octet::tests {
namespace {

using model::graph;
using model::node;
using model::node_id;
using model::tensor_id;

template <typename A, typename B, typename = void> constexpr bool are_compared = false;
template <typename A, typename B>
constexpr bool are_compared<A, B, std::void_t<decltype(std::declval<A>() == std::declval<B>())>> = true;
template <typename A, typename B, typename = void> constexpr bool are_ordered = false;
template <typename A, typename B>
constexpr bool are_ordered<A, B, std::void_t<decltype(std::declval<A>() < std::declval<B>())>> = true;

template <typename Place, typename = void> constexpr bool is_index = false;
template <typename Place>
constexpr bool
    is_index<Place, std::void_t<decltype(std::declval<std::vector<int>>()[std::declval<Place>()])>> = true;

// A node is no tensor.
static_assert(!std::is_constructible_v<tensor_id, node_id> && !std::is_constructible_v<node_id, tensor_id>);
static_assert(are_compared<node_id, node_id> && !are_compared<node_id, tensor_id>);
static_assert(are_ordered<node_id, node_id> && !are_ordered<tensor_id, node_id>);
// No number becomes one by itself, is compared with one or is made of one; only the lists of graphs take tensors.
static_assert(!std::is_convertible_v<int, tensor_id> && !std::is_convertible_v<int, node_id>);
static_assert(!are_compared<tensor_id, int> && !are_ordered<tensor_id, int> && !are_compared<node_id, int>);
static_assert(std::is_convertible_v<tensor_id, int> && !std::is_convertible_v<node_id, int>);
static_assert(!std::is_convertible_v<tensor_id, std::size_t> && !std::is_convertible_v<tensor_id, bool>);
// Nor is either an index.
static_assert(is_index<int> && !is_index<tensor_id> && !is_index<node_id>);

graph one_node() {
    graph g;
    g.tensors.resize(2);
    g.nodes.push_back({"a", {0, -1}, {1}, {}});
    return g;
}

TEST(Ids, ReadWhatGraphsList) {
    const graph g = one_node();
    const node &n = g.nodes[0];
    EXPECT_EQ(model::input_of(n, 0), tensor_id(0));
    EXPECT_FALSE(model::input_of(n, 1)); // absent
    EXPECT_FALSE(model::input_of(n, 2)); // beyond the list
    EXPECT_EQ(model::output_of(n).number(), 1);
    EXPECT_EQ(tensor_id(-7), tensor_id());
    EXPECT_EQ(node_id().number(), -1);
    std::vector<tensor_id> all;
    for (const tensor_id t : model::inputs_of(n))
        all.push_back(t);
    EXPECT_EQ(all, (std::vector<tensor_id>{tensor_id(0), tensor_id()}));
}

TEST(Ids, NoneIsNoPlace) {
    graph g = one_node();
    EXPECT_THROW((void)model::tensor_at(g, tensor_id()), std::out_of_range);
    EXPECT_THROW((void)model::node_at(g, node_id()), std::out_of_range);
    EXPECT_THROW((void)model::graph_editor(g).consumers(tensor_id()), std::out_of_range);
    EXPECT_THROW((void)model::tensor_at(g, tensor_id(2)), std::out_of_range);
}

TEST(Ids, NothingIsAskedOfNone) {
    graph g = one_node();
    const model::graph_editor e(g);
    EXPECT_FALSE(e.producer(tensor_id()));
    EXPECT_FALSE(e.only_consumer(tensor_id()));
    EXPECT_FALSE(e.input(node_id(), 0));
    EXPECT_FALSE(e.output(node_id()));
    EXPECT_EQ(e.only_consumer(tensor_id(0)), node_id(0));
}

} // namespace
} // namespace octet::tests
