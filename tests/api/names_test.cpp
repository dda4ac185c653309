// Every public enumerator has its name: the headers are read, and what they spell is what to_string says.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "octet/octet.hpp"
#include "support/paths.hpp"

using namespace octet;

namespace {

std::string header(const std::string &name) {
    std::ifstream in(tests::source_path("include/octet/") + name);
    std::ostringstream text;
    text << in.rdbuf();
    return std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
}

/// Enumerators that count from 0, that is all that are no second name of another.
std::vector<std::string> enumerators(const std::string &file, const std::string &name) {
    const std::string text = header(file);
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("enum class " + name + "[^{]*\\{([^}]*)\\}")))
        return {};
    std::istringstream body(found[1].str());
    std::vector<std::string> names;
    for (std::string item; std::getline(body, item, ',');) {
        item = std::regex_replace(item, std::regex("\\s"), "");
        if (!item.empty() && item.find('=') == std::string::npos)
            names.push_back(item);
    }
    return names;
}

template <typename Enum> void expect_names(const std::string &file, const std::string &name) {
    SCOPED_TRACE(name);
    const std::vector<std::string> names = enumerators(file, name);
    ASSERT_FALSE(names.empty());
    for (std::size_t i = 0; i < names.size(); i++)
        EXPECT_EQ(to_string(static_cast<Enum>(i)), names[i]);
    EXPECT_STREQ(to_string(static_cast<Enum>(names.size())), "unknown");
    EXPECT_STREQ(to_string(static_cast<Enum>(-1)), "unknown");
}

TEST(names, of_every_enumeration_are_those_of_the_header) {
    expect_names<format_tag>("types.hpp", "format_tag");
    expect_names<prop_kind>("types.hpp", "prop_kind");
    expect_names<padding_kind>("types.hpp", "padding_kind");
    expect_names<primitive_kind>("types.hpp", "primitive_kind");
    expect_names<algorithm>("types.hpp", "algorithm");
    expect_names<resampling_coordinates>("types.hpp", "resampling_coordinates");
    expect_names<rnn_direction>("types.hpp", "rnn_direction");
    expect_names<scratchpad_mode>("types.hpp", "scratchpad_mode");
    expect_names<format_kind>("memory.hpp", "format_kind");
    expect_names<packed_kind>("memory.hpp", "packed_kind");
    expect_names<query>("primitive.hpp", "query");
    expect_names<scale_derivation>("requantization.hpp", "scale_derivation");
    expect_names<rule_parameters>("requantization.hpp", "rule_parameters");
    expect_names<requantization_rule>("requantization.hpp", "requantization_rule");
    expect_names<source_quantizer>("source_quantization.hpp", "source_quantizer");
    expect_names<source_mode>("source_quantization.hpp", "source_mode");
    expect_names<source_span>("source_quantization.hpp", "source_span");
    expect_names<combination>("source_quantization.hpp", "combination");
    expect_names<cpu_isa>("settings.hpp", "cpu_isa");
    expect_names<engine::kind>("engine.hpp", "kind");
}

TEST(names, of_values_with_gaps) {
    EXPECT_STREQ(to_string(status::success), "success");
    EXPECT_STREQ(to_string(status::out_of_memory), "out_of_memory");
    EXPECT_STREQ(to_string(status::invalid_arguments), "invalid_arguments");
    EXPECT_STREQ(to_string(status::unimplemented), "unimplemented");
    EXPECT_STREQ(to_string(status::runtime_error), "runtime_error");
    EXPECT_STREQ(to_string(static_cast<status>(4)), "unknown");
    EXPECT_STREQ(to_string(data_type::undef), "undef");
    EXPECT_STREQ(to_string(data_type::f16), "f16");
    EXPECT_STREQ(to_string(data_type::bf16), "bf16");
    EXPECT_STREQ(to_string(data_type::f32), "f32");
    EXPECT_STREQ(to_string(data_type::s32), "s32");
    EXPECT_STREQ(to_string(data_type::s8), "s8");
    EXPECT_STREQ(to_string(data_type::u8), "u8");
    EXPECT_STREQ(to_string(data_type::s4), "s4");
    EXPECT_STREQ(to_string(data_type::u4), "u4");
    EXPECT_STREQ(to_string(data_type::s16), "s16");
    EXPECT_STREQ(to_string(data_type::u2), "u2");
    EXPECT_STREQ(to_string(data_type::s2), "s2");
    for (const int gap : {7, 10, 13, 63, 67})
        EXPECT_STREQ(to_string(static_cast<data_type>(gap)), "unknown");
    EXPECT_STREQ(to_string(rnn_direction::unidirectional_left2right), "unidirectional_left2right");
    EXPECT_STREQ(to_string(rnn_direction::unidirectional_right2left), "unidirectional_right2left");
    EXPECT_STREQ(to_string(rnn_direction::bidirectional_concat), "bidirectional_concat");
    EXPECT_STREQ(to_string(rnn_direction::bidirectional_sum), "bidirectional_sum");
    EXPECT_EQ(to_string(normalization_flags::none), "none");
    EXPECT_EQ(to_string(normalization_flags::use_global_stats | normalization_flags::use_scale_shift |
                        normalization_flags::fuse_norm_relu | normalization_flags::use_scale |
                        normalization_flags::use_shift),
              "use_global_stats+use_scale_shift+fuse_norm_relu+use_scale+use_shift");
    EXPECT_STREQ(to_string(stream::flags::in_order), "in_order");
    EXPECT_STREQ(to_string(stream::flags::out_of_order), "out_of_order");
}

TEST(names, no_public_enumeration_is_forgotten) {
    std::set<std::string> known{"data_type",
                                "format_tag",
                                "prop_kind",
                                "padding_kind",
                                "primitive_kind",
                                "algorithm",
                                "resampling_coordinates",
                                "scratchpad_mode",
                                "normalization_flags",
                                "format_kind",
                                "packed_kind",
                                "query",
                                "scale_derivation",
                                "rule_parameters",
                                "requantization_rule",
                                "source_quantizer",
                                "source_mode",
                                "source_span",
                                "combination",
                                "rnn_direction",
                                "rnn_flags", // which has one value
                                "cpu_isa",
                                "kind",
                                "status",
                                "flags"};
    const std::string all = header("octet.hpp");
    const std::regex include("octet/(\\w+\\.hpp)\""), declared("enum class (\\w+)");
    for (std::sregex_iterator file(all.begin(), all.end(), include), end; file != end; ++file) {
        const std::string text = header((*file)[1].str());
        for (std::sregex_iterator found(text.begin(), text.end(), declared); found != end; ++found)
            EXPECT_TRUE(known.count((*found)[1].str())) << (*found)[1].str() << " has no to_string";
    }
}

TEST(names, arguments_are_spelled_as_constants) {
    EXPECT_EQ(argument_to_string(OCTET_ARG_SRC), "OCTET_ARG_SRC");
    EXPECT_EQ(argument_to_string(OCTET_ARG_BIAS), "OCTET_ARG_BIAS");
    EXPECT_EQ(argument_to_string(OCTET_ARG_MULTIPLE_SRC + 3), "OCTET_ARG_MULTIPLE_SRC + 3");
    EXPECT_EQ(argument_to_string(OCTET_ARG_ATTR_OUTPUT_SCALES), "OCTET_ARG_ATTR_OUTPUT_SCALES");
    EXPECT_EQ(argument_to_string(OCTET_ARG_ATTR_PREFETCH), "OCTET_ARG_ATTR_PREFETCH");
    EXPECT_EQ(argument_to_string(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST),
              "OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST");
    EXPECT_EQ(argument_to_string(OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS),
              "OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS");
    for (const int index : {0, 1, 7, max_post_ops - 1})
        EXPECT_EQ(argument_to_string(OCTET_ARG_ATTR_MULTIPLE_POST_OP(index) | OCTET_ARG_SRC_1),
                  "OCTET_ARG_ATTR_MULTIPLE_POST_OP(" + std::to_string(index) + ") | OCTET_ARG_SRC_1");
    EXPECT_EQ(argument_to_string(999), "999");
}

} // namespace
