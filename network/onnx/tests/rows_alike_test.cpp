// Single rows times a matrix that is computed: in ONNX Runtime's order for one, or in that of several
// (`network_options::rows_alike`).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

constexpr dim_t inner = 67, columns = 33;
const std::vector<float> rows = numbers(3 * inner, 1.f), matrix = numbers(inner * columns, 1.f, 7);

/// x{1, 67} times a matrix.
model::graph product(bool is_constant = false) {
    one_node n("MatMul");
    n.input({1, inner}, std::vector<float>(inner));
    n.add({inner, columns}, matrix, is_constant);
    n.output();
    infer_shapes(n.graph);
    return n.graph;
}

network_options alike() {
    network_options options;
    options.rows_alike = true;
    return options;
}

void run(network &net, dim_t first, dim_t count) {
    net.input(0).resize({count, inner});
    net.input(0).copy_from(rows.data() + first * inner, static_cast<std::size_t>(count * inner));
    if (net.input_count() > 1)
        net.input(1).copy_from(matrix);
    net.run();
}

std::vector<float> results(network &net, dim_t first, dim_t count) {
    run(net, first, count);
    return net.output(0).as<float>();
}

std::vector<float> row_of(const std::vector<float> &all, dim_t row) {
    return {all.begin() + row * columns, all.begin() + (row + 1) * columns};
}

TEST(RowsAlike, a_row_has_the_same_bits_alone_and_among_others) {
    network net(product(), alike()), usual(product());
    const std::vector<float> together = results(net, 0, 3);
    EXPECT_EQ(together, results(usual, 0, 3)) << "several rows have one order";
    for (const dim_t row : {0, 1, 2}) {
        EXPECT_EQ(results(net, row, 1), row_of(together, row));
        EXPECT_NE(results(usual, row, 1), row_of(together, row)) << "as in ONNX Runtime";
    }
}

TEST(RowsAlike, constant_matrices_have_one_order_anyway) {
    network net(product(true), alike()), usual(product(true));
    const std::vector<float> together = results(net, 0, 3);
    for (const dim_t row : {0, 1, 2}) {
        EXPECT_EQ(results(net, row, 1), row_of(together, row));
        EXPECT_EQ(results(usual, row, 1), row_of(together, row));
    }
}

TEST(RowsAlike, a_saved_plan_keeps_the_choice) {
    network net(product(), alike());
    const auto saved = [](const network &n) { return n.save(); };
    const std::vector<std::uint8_t> plan = saved(net), usual_plan = saved(network(product()));
    const auto of = [](const std::vector<std::uint8_t> &bytes, const network_options &options = {}) {
        return network(bytes.data(), bytes.size(), "plan", options);
    };
    for (const network_options &options : {network_options(), alike()}) {
        network again = of(plan, options);
        EXPECT_TRUE(again.options().rows_alike);
        EXPECT_EQ(results(again, 1, 1), results(net, 1, 1));
        EXPECT_EQ(results(again, 0, 3), results(net, 0, 3)) << "planned anew";
        EXPECT_EQ(results(again, 1, 1), results(net, 1, 1));
    }
    network usual(product()), usual_again = of(usual_plan);
    EXPECT_FALSE(usual_again.options().rows_alike);
    EXPECT_EQ(results(usual_again, 1, 1), results(usual, 1, 1));
    test::expect_unimplemented([&] { of(usual_plan, alike()); },
                               {"plan: rows_alike: the plan was saved without it, and has single rows"});
    EXPECT_TRUE(of(saved(network(product(true))), alike()).options().rows_alike) << "nothing depends on it";
}

} // namespace
} // namespace octet::tests
