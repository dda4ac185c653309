// Changes of a graph by a pass: places of what is inserted, and mistakes that are reported.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/graph/graph_editor.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using model::graph;
using model::graph_editor;
using model::node;
using model::node_id;
using model::tensor_id;

/// A node that reads tensor `from` and writes one that is an output of the network.
node reader_of(graph &g, graph_editor *editor, const char *op, int from) {
    model::tensor t;
    t.type = data_type::f32;
    const tensor_id y = editor ? editor->add_tensor(t) : model::add_tensor(g, t);
    g.outputs.push_back(y);
    return {op, {from}, {y}, {}};
}

/// Nodes of these names, which all read the network's only input.
graph readers(const std::vector<const char *> &ops) {
    graph g;
    g.tensors.resize(1);
    g.inputs = {0};
    for (const char *const op : ops)
        g.nodes.push_back(reader_of(g, nullptr, op, 0));
    return g;
}

std::string order_of(const graph &g) {
    std::string ops;
    for (const node &n : g.nodes)
        ops += n.op;
    return ops;
}

/// Inserts nodes that are kept without readers.
class inserting {
public:
    explicit inserting(graph &g) : g_(g), e_(g) {}
    node_id before(node_id i, const char *op) { return e_.insert_before(i, kept(op)); }
    node_id behind(node_id i, const char *op) { return e_.insert_after(i, kept(op)); }
    std::string order() {
        e_.finish();
        return order_of(g_);
    }

private:
    node kept(const char *op) {
        node n = reader_of(g_, &e_, op, 0);
        model::set_mark(n, &model::node_marks::unread, model::kept_unread::yes);
        return n;
    }
    graph &g_;
    graph_editor e_;
};

TEST(GraphEditor, InsertionsBeforeEachOtherStayBehindThePredecessor) {
    graph g = readers({"a", "b"});
    inserting e(g);
    node_id place(1);
    for (const char *const op : {"6", "5", "4", "3", "2", "1"})
        place = e.before(place, op);
    EXPECT_EQ(e.order(), "a123456b");
}

TEST(GraphEditor, InsertionsAtOnePlaceKeepTheirOrder) {
    graph g = readers({"a", "b"});
    inserting e(g);
    for (const char *const op : {"4", "5", "6"})
        e.before(node_id(1), op);
    for (const char *const op : {"1", "2", "3"})
        e.behind(node_id(0), op);
    EXPECT_EQ(e.order(), "a123456b");
}

TEST(GraphEditor, InsertionsBehindEachOtherStayBeforeTheSuccessor) {
    graph g = readers({"a", "b"});
    inserting e(g);
    node_id place(0);
    for (const char *const op : {"1", "2", "3", "4"})
        place = e.behind(place, op);
    e.behind(node_id(0), "5"); // behind all that came there
    EXPECT_EQ(e.order(), "a12345b");
}

TEST(GraphEditor, ChangesOfRemovedNodesAreReported) {
    graph g = readers({"a", "b"});
    graph_editor e(g);
    const node_id a(0), b(1);
    e.remove(a);
    EXPECT_EQ(test::refusal([&] { e.remove(a); }),
              "internal error: node 0 (a) is removed after it was removed");
    EXPECT_EQ(test::refusal([&] { e.replace(a, e.at(b)); }),
              "internal error: node 0 (a) is replaced after it was removed");
    e.finish();
    EXPECT_EQ(order_of(g), "b");
}

TEST(GraphEditor, RingsAreReported) {
    graph g = readers({"a", "b"});
    graph_editor e(g);
    for (const int i : {0, 1}) {
        node n = e.at(node_id(i));
        n.inputs = {e.output(node_id(1 - i))};
        e.replace(node_id(i), n);
    }
    EXPECT_NE(test::refusal([&] { e.finish(); }).find("reads what follows from its own result"),
              std::string::npos);
}

} // namespace
} // namespace octet::tests
