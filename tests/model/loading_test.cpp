// What loading leaves where it was: constants inside of mapped files and of shared buffers, at any address.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "network/graph/file.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
using model::shared_bytes;

constexpr const char *digits = OCTET_SOURCE_DIR "/examples/digits/digits_int8.tflite";

TEST(SharedBytes, AreAValueWhoseCopiesShare) {
    const shared_bytes none, four = bytes{1, 2, 3, 4}, copy = four, equal = bytes{1, 2, 3, 4};
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none, bytes());
    EXPECT_EQ(copy.data(), four.data());
    EXPECT_NE(equal.data(), four.data());
    EXPECT_EQ(equal, four);
    EXPECT_NE(four, (bytes{1, 2, 3}));
    const shared_bytes middle = shared_bytes(four).part(1, 2);
    EXPECT_EQ(middle, (bytes{2, 3}));
    EXPECT_EQ(middle[1], 3);
    EXPECT_EQ(middle.owner(), four.owner());
}

TEST(SharedBytes, KeepTheirOwnerAlive) {
    auto owner = std::make_shared<const bytes>(3, std::uint8_t{7});
    const std::weak_ptr<const bytes> watch = owner;
    shared_bytes part(owner, owner->data() + 1, 2);
    owner.reset();
    EXPECT_EQ(part.copy(), bytes(2, 7));
    part = {};
    EXPECT_TRUE(watch.expired());
}

TEST(Loading, CopiesOfAGraphShareItsConstants) {
    const model::graph g = model::read_network(digits), copy = g;
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        EXPECT_EQ(copy.tensors[t].data.data(), g.tensors[t].data.data());
}

TEST(Loading, ConstantsLieInTheMappedFile) {
    const model::graph g = model::read_network(digits);
    const shared_bytes *first = nullptr;
    for (const model::tensor &t : g.tensors) {
        if (!t.is_constant)
            continue;
        first = first ? first : &t.data;
        EXPECT_EQ(t.data.owner(), first->owner());
    }
    ASSERT_TRUE(first);
}

TEST(Loading, ReleasedPagesComeBack) {
    const shared_bytes file = model::map_file(digits);
    std::ifstream stream(digits, std::ios::binary);
    const bytes expected{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(file, expected);
    model::release_pages(file.part(5, file.size() - 5));
    EXPECT_EQ(file, expected);
    const shared_bytes other = bytes{1, 2, 3};
    model::release_pages(other);
    EXPECT_EQ(other, (bytes{1, 2, 3}));
}

/// The same constants, each at an address that no type wants.
model::graph misaligned(model::graph g) {
    for (model::tensor &t : g.tensors)
        if (t.is_constant) {
            bytes shifted(1);
            shifted.insert(shifted.end(), t.data.begin(), t.data.end());
            t.data = shared_bytes(shifted).part(1, t.data.size());
        }
    return g;
}

TEST(Loading, ConstantsMayLieAnywhere) {
    const model::graph g = model::read_network(digits);
    network expected(g), got(misaligned(g));
    for (network *net : {&expected, &got}) {
        for (std::size_t i = 0; i < net->input().size_in_bytes(); i++)
            static_cast<std::uint8_t *>(net->input().data())[i] = static_cast<std::uint8_t>(i * 37);
        net->run();
    }
    EXPECT_EQ(got.output().as<std::int8_t>(), expected.output().as<std::int8_t>());
}

} // namespace
} // namespace octet::tests
