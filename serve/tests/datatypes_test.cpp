// Elements of one datatype as those of another: all floats of 16 bits, ends of ranges, and codes.
// SPDX-License-Identifier: Apache-2.0
#include "core/datatypes.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "core/model_config.hpp"
#include "support/expect_error.hpp"

namespace octet::serve {
namespace {

tensor_info tensor(const char *own) {
    tensor_info t;
    t.name = "x";
    t.own = t.announced = find_datatype(std::string(own));
    return t;
}

template <typename T> byte_range range(const std::vector<T> &values) {
    return {reinterpret_cast<const std::byte *>(values.data()), values.size() * sizeof(T)};
}

template <typename T> std::vector<T> as(const std::vector<std::byte> &bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

const datatype &type(const char *name) { return *find_datatype(std::string(name)); }

void refuses(const std::function<void()> &f, const std::string &part) {
    try {
        f();
        ADD_FAILURE() << part;
    } catch (const refusal &e) {
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

} // namespace

/// Each value of 16 bits widens and comes back; what lies between two of them goes to the nearest, ties to even.
TEST(serve_datatypes, floats_of_16_bits) {
    for (const char *name : {"FP16", "BF16"}) {
        std::vector<std::uint16_t> all(65536);
        for (std::size_t i = 0; i < all.size(); i++)
            all[i] = static_cast<std::uint16_t>(i);
        const auto wide = as<float>(to_network(tensor("FP32"), type(name), range(all)));
        const auto back = as<std::uint16_t>(from_network(tensor("FP32"), type(name), range(wide)));
        for (std::size_t i = 0; i < all.size(); i++)
            if (std::isnan(wide[i]))
                EXPECT_TRUE(std::isnan(
                    to_numbers(type(name), {reinterpret_cast<const std::byte *>(&back[i]), 2})[0]));
            else
                ASSERT_EQ(back[i], all[i]) << name;
        std::vector<double> between;
        std::vector<std::uint16_t> expected;
        for (std::size_t i = 0; std::isfinite(wide[i + 1]); i++) {
            const double a = static_cast<double>(wide[i]), b = static_cast<double>(wide[i + 1]),
                         tie = (a + b) / 2;
            between.insert(between.end(), {tie, std::nextafter(tie, a), std::nextafter(tie, b)});
            const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
            expected.insert(expected.end(), {i % 2 ? high : low, low, high});
        }
        EXPECT_EQ(as<std::uint16_t>(to_elements("x", type(name), between)), expected) << name;
    }
    EXPECT_EQ(as<std::uint16_t>(to_elements("x", type("FP16"), {1, -2, 65504, 6e-8, -0.0, HUGE_VAL})),
              (std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff, 1, 0x8000, 0x7c00}));
    refuses([] { to_elements("x", type("FP16"), {0, 65520}); }, "element 1 is 65520, which FP16 cannot hold");
    refuses([] { to_elements("x", type("FP32"), {1e39}); }, "which FP32 cannot hold");
}

TEST(serve_datatypes, integers_have_to_fit) {
    const std::vector<std::int64_t> ends = {std::numeric_limits<std::int32_t>::min(), 0,
                                            std::numeric_limits<std::int32_t>::max()};
    const auto narrow = as<std::int32_t>(to_network(tensor("INT32"), type("INT64"), range(ends)));
    EXPECT_EQ(as<std::int64_t>(from_network(tensor("INT32"), type("INT64"), range(narrow))), ends);
    refuses(
        [] {
            to_network(tensor("INT32"), type("INT64"),
                       range(std::vector<std::int64_t>{1, std::int64_t(1) << 31}));
        },
        "element 1 is 2147483648, which INT32 cannot hold");
    refuses([] { to_elements("x", type("INT64"), {0x1p63}); }, "which INT64 cannot hold");
    refuses([] { to_elements("x", type("UINT8"), {-1}); }, "element 0 is -1");
    refuses([] { to_elements("x", type("INT8"), {128}); }, "element 0 is 128");
    refuses([] { to_elements("x", type("INT8"), {0.5}); }, "element 0 is 0.5");
    refuses([] { to_elements("x", type("INT8"), {std::nan("")}); }, "nan");
    std::vector<std::int64_t> late(10'000, 7); // in the third of the pieces
    late[9'000] = std::int64_t(1) << 40;
    refuses([&] { to_network(tensor("INT32"), type("INT64"), range(late)); }, "element 9000 is");
}

TEST(serve_datatypes, truths) {
    EXPECT_EQ(
        as<std::uint8_t>(to_network(tensor("UINT8"), type("BOOL"), range(std::vector<std::uint8_t>{0, 1}))),
        (std::vector<std::uint8_t>{0, 1}));
    EXPECT_EQ(as<std::uint8_t>(
                  from_network(tensor("UINT8"), type("BOOL"), range(std::vector<std::uint8_t>{0, 1, 200}))),
              (std::vector<std::uint8_t>{0, 1, 1}));
    refuses(
        [] {
            to_network(tensor("UINT8"), type("BOOL"), range(std::vector<std::uint8_t>{1, 2}));
        },
        "element 1 is 2");
    refuses([] { to_elements("x", type("BOOL"), {2}); }, "BOOL cannot hold");
    std::string text;
    append_json(text, "x", type("BOOL"), range(std::vector<std::uint8_t>{0, 1}));
    EXPECT_EQ(text, "false,true");
}

TEST(serve_datatypes, who_can_be_what) {
    EXPECT_EQ(tensor("FP32").choices(), "FP16, BF16, FP32");
    EXPECT_EQ(tensor("INT32").choices(), "INT32, INT64");
    EXPECT_EQ(tensor("UINT8").choices(), "BOOL, UINT8");
    EXPECT_EQ(tensor("INT8").choices(), "INT8");
    tensor_info codes = tensor("INT8");
    codes.quantization = {{0.5F}, {3}, 0};
    EXPECT_EQ(codes.choices(), "INT8, FP16, BF16, FP32");
    EXPECT_EQ(find_datatype(std::string("FP64")), nullptr);
    EXPECT_EQ(find_datatype(data_type::undef), nullptr);
}

TEST(serve_datatypes, configuration_names_them) {
    EXPECT_EQ(read_config(R"({"datatypes": {"x": "FP16"}})").datatypes.at("x")->kind, element::f16);
    const auto refuses_text = [](const char *text, const char *part) {
        try {
            read_config(text);
            ADD_FAILURE() << text;
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        }
    };
    refuses_text(R"({"datatypes": {"x": "FP64"}})", "allowed is a datatype");
    refuses_text(R"({"datatypes": {"x": 3}})", "allowed is a datatype");
    refuses_text(R"({"sha256": {"model": "12"}})", "64 hexadecimal digits");
}

} // namespace octet::serve
