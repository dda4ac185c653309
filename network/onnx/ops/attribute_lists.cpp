// Lists in texts.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/ops/attribute_lists.hpp"

#include <charconv>

namespace octet::model {

std::vector<std::string> words_of(const lowering &l, const std::string &attribute) {
    const std::string text = l.text(attribute, "");
    std::vector<std::string> words;
    for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

std::vector<float> numbers_of(const lowering &l, const std::string &attribute) {
    std::vector<float> numbers;
    for (const std::string &word : words_of(l, attribute)) {
        float number = 0.f;
        const char *const end = word.data() + word.size();
        const auto [stop, failure] = std::from_chars(word.data(), end, number);
        if (stop != end || failure != std::errc())
            refuse("attribute '" + attribute + "' has '" + word + "', allowed are numbers");
        numbers.push_back(number);
    }
    return numbers;
}

} // namespace octet::model
