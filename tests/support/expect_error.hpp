#pragma once // SPDX-License-Identifier: Apache-2.0

// An error as a user sees it: its status, and a text that names the argument, what was given and what is
// allowed.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "octet/error.hpp"

namespace octet::test {

template <typename Call>
void expect_error(status wanted, const Call &call, std::initializer_list<std::string_view> words) {
    try {
        call();
    } catch (const error &e) {
        EXPECT_EQ(e.status, wanted) << e.what();
        EXPECT_STREQ(e.message, e.what());
        for (const std::string_view word : words)
            EXPECT_NE(std::string_view(e.what()).find(word), std::string_view::npos)
                << "the text lacks \"" << word << "\": " << e.what();
        return;
    }
    std::string expected;
    for (const std::string_view word : words)
        expected += std::string(expected.empty() ? "" : " … ") + std::string(word);
    ADD_FAILURE() << "accepted; expected an error: " << expected;
}

template <typename Call>
void expect_invalid(const Call &call, std::initializer_list<std::string_view> words) {
    expect_error(status::invalid_arguments, call, words);
}

template <typename Call>
void expect_unimplemented(const Call &call, std::initializer_list<std::string_view> words) {
    expect_error(status::unimplemented, call, words);
}

/// The text of the error that a call throws, "" where it throws none.
template <typename Call> std::string refusal(const Call &call) {
    try {
        call();
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

} // namespace octet::test
