// Generates text of a decoder, token by token, and writes a transcript: all tokens, and a CRC-32 of the logits behind
// each of them. `octet verify MODEL transcript.json` computes them again in one pass.
//
//     octet_decoder model.onnx 1,2,3 20 transcript.json [CHUNK]    # 20 tokens behind the prompt 1, 2, 3
//
// The model is one as ONNX Runtime GenAI's model builder writes it (octet/decoder.hpp). The most likely token comes
// next. The logits are the same however the prompt is cut: into parts of CHUNK tokens, or not at all.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <zlib.h>

#include "octet/decoder.hpp"

namespace {

using tokens = std::vector<std::int32_t>;

/// The index of the largest.
std::int32_t likeliest(const std::vector<float> &logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::string checksum(const std::vector<float> &logits) {
    char text[9];
    std::snprintf(text, sizeof(text), "%08lx",
                  crc32(0, reinterpret_cast<const Bytef *>(logits.data()),
                        static_cast<uInt>(logits.size() * sizeof(float))));
    return std::string("\"") + text + "\"";
}

template <typename T> std::string list(const std::vector<T> &values) {
    std::ostringstream text;
    for (std::size_t i = 0; i < values.size(); i++)
        text << (i > 0 ? ", " : "") << values[i];
    return "[" + text.str() + "]";
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 5) {
        std::fprintf(stderr, "usage: %s model.onnx 1,2,3 COUNT transcript.json [CHUNK]\n", argv[0]);
        return 2;
    }
    try {
        tokens all;
        std::istringstream prompt(argv[2]);
        for (std::string token; std::getline(prompt, token, ',');)
            all.push_back(std::atoi(token.c_str()));
        const std::size_t given = all.size(), count = given + static_cast<std::size_t>(std::atoll(argv[3]));
        const std::size_t chunk = argc > 5 ? static_cast<std::size_t>(std::atoll(argv[5])) : given;
        if (given == 0 || chunk == 0 || count <= given)
            throw octet::error(octet::status::invalid_arguments, "the prompt, COUNT or CHUNK is empty or 0");
        octet::decoder decoder(argv[1]);
        octet::sequence text = decoder.new_sequence();
        std::vector<std::string> sums;
        while (all.size() < count) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(sums.size());
            const auto part = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chunk), all.end() - first);
            const std::vector<float> logits = decoder.run({{&text, {first, first + part}, true}}).front();
            const auto width = static_cast<std::ptrdiff_t>(logits.size()) / part;
            std::vector<float> row;
            for (auto at = logits.begin(); at != logits.end(); at += width) {
                row.assign(at, at + width);
                sums.push_back(checksum(row));
            }
            if (sums.size() == all.size())
                all.push_back(likeliest(row));
        }
        std::ofstream out(argv[4]);
        out << "{\"format\": \"octet transcript 1\", \"prompt\": " << given << ",\n \"tokens\": " << list(all)
            << ",\n \"logits_crc32\": " << list(sums) << "}\n";
        if (!out.flush())
            throw octet::error(octet::status::runtime_error, std::string(argv[4]) + " cannot be written");
        std::printf("%s\n",
                    list(tokens(all.begin() + static_cast<std::ptrdiff_t>(given), all.end())).c_str());
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
