// Products know the weights of the product behind them, which they may fetch.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "network/tests/graph_builder.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

/// Products of 4 rows, each of the one before, with other nodes where they are asked for.
class chain : public graph_builder {
public:
    explicit chain(dim_t channels) : graph_builder("tflite", data_type::s8), channels_(channels) {
        g.inputs = {last_ = tensor({4, channels}, 0.1f, 3)};
    }
    chain &product(dim_t channels) {
        return product(weights({channels, channels_}, data_type::s8, 0.01f), channels);
    }
    chain &product(int weights, dim_t channels) {
        channels_ = channels;
        return append("FULLY_CONNECTED", {last_, weights}, {4, channels},
                      {{"activation", std::string("NONE")}});
    }
    chain &softmax() { // is not joined to a product
        append("SOFTMAX", {last_}, {4, channels_}, {{"beta", 1.f}});
        g.tensors[static_cast<std::size_t>(last_)].quant = {{1.f / 256}, {-128}, 0};
        return *this;
    }
    model::graph finish() {
        g.outputs = {last_};
        return g;
    }

private:
    chain &append(const std::string &op, const std::vector<int> &inputs, const memory::dims &dims,
                  const std::map<std::string, model::attribute> &attributes) {
        last_ = tensor(dims, 0.1f, -5);
        node(op, inputs, last_, attributes);
        return *this;
    }

    dim_t channels_;
    int last_ = 0;
};

/// The bytes behind a word in what a node says about itself; 0 without the word.
std::size_t bytes_behind(const std::string &word, const std::string &explanation) {
    const std::size_t at = explanation.find(word);
    return at == std::string::npos ? 0 : std::stoul(explanation.substr(at + word.size()));
}

/// The bytes that node i was made to fetch, and those of the buffer that it was given.
void expect_next(const network &net, std::size_t i, std::size_t bytes) {
    const std::string explanation = net.explain(i);
    EXPECT_EQ(bytes_behind("prefetch:", explanation), bytes) << explanation;
    const std::size_t given = bytes_behind("next weights: ", explanation);
    EXPECT_GE(given, bytes) << explanation;
    EXPECT_EQ(given == 0, bytes == 0) << explanation;
}

class NextWeights : public ::testing::Test {
protected:
    void SetUp() override {
        if (get_effective_cpu_isa() < cpu_isa::avx512_amx)
            GTEST_SKIP() << "the level has no tile registers";
    }
};

TEST_F(NextWeights, AreThoseOfTheProductBehind) {
    const network net(chain(32).product(48).product(64).softmax().product(16).finish());
    expect_next(net, 0, 64 * 48);
    expect_next(net, 1, 16 * 64); // little lies between
    expect_next(net, 2, 0);       // no product
    expect_next(net, 3, 0);       // the last one
}

TEST_F(NextWeights, AreNotFetchedIfTheyAreTheSame) {
    chain c(32);
    const int shared = c.weights({32, 32}, data_type::s8, 0.01f);
    const network net(c.product(shared, 32).product(shared, 32).product(48).finish());
    expect_next(net, 0, 0);
    expect_next(net, 1, 48 * 32);
}

TEST_F(NextWeights, AreNotFetchedPastMuchElse) {
    chain c(32);
    c.product(32);
    const int wide = 1 << 17; // columns of 4 rows
    c.product(wide).softmax().product(16);
    const network net(c.finish());
    expect_next(net, 0, std::size_t{32} * wide);
    expect_next(net, 1, 0);
}

TEST_F(NextWeights, OfSavedPlansAreTheSame) {
    const std::string path = ::testing::TempDir() + "octet_next_weights";
    network(chain(32).product(48).product(64).finish()).save(path);
    expect_next(network(model::read_saved(path)), 0, 64 * 48);
    std::remove(path.c_str());
}

} // namespace
} // namespace octet::tests
