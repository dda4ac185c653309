// Generates text of a decoder, token by token, and writes a transcript: all tokens, and a CRC-32 of the logits behind
// each of them. `octet verify MODEL transcript.json` computes them again in one pass.
//
//     octet_decoder model.onnx 1,2,3 20 transcript.json [CHUNK]    # 20 tokens behind the prompt 1, 2, 3
//
// The model has inputs input_ids and attention_mask, perhaps position_ids, and past_key_values.*, for each of which
// there is an output present.*, as ONNX Runtime GenAI's model builder writes it. The most likely token comes next.
// With `rows_alike` the logits are the same however the prompt is cut: into parts of CHUNK tokens, or not at all.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <zlib.h>

#include "octet/network.hpp"

namespace {

using tokens = std::vector<std::int64_t>;

/// A decoder and the past of one sequence.
class decoder {
public:
    explicit decoder(const std::string &path) : net_(path, options()) {
        for (std::size_t i = 0; i < net_.input_count(); i++)
            if (net_.input(i).name().rfind("past_key_values.", 0) == 0)
                caches_.push_back({i, "present" + net_.input(i).name().substr(15), {}});
    }

    /// Runs the tokens that follow. Returns the logits behind each of them.
    std::vector<std::vector<float>> run(const tokens &next) {
        const auto count = static_cast<octet::dim_t>(next.size()), all = done_ + count;
        give("input_ids", next, count);
        give("attention_mask", tokens(static_cast<std::size_t>(all), 1), all);
        tokens positions;
        for (octet::dim_t p = done_; p < all; p++)
            positions.push_back(p);
        give("position_ids", positions, count);
        for (const cache &c : caches_) {
            octet::tensor_view past = net_.input(c.input);
            octet::memory::dims dims = past.dims();
            dims[0] = 1;
            dims[2] = done_;
            past.resize(dims);
            if (done_ > 0)
                past.copy_bytes_from(c.bytes.data(), c.bytes.size());
        }
        net_.run();
        for (cache &c : caches_) {
            const octet::tensor_view present = net_.output(c.output);
            const auto *const bytes = static_cast<const char *>(present.data());
            c.bytes.assign(bytes, bytes + present.size_in_bytes());
        }
        done_ = all;
        const std::vector<float> logits = net_.output("logits").as<float>();
        const auto width = static_cast<std::ptrdiff_t>(logits.size() / next.size());
        std::vector<std::vector<float>> rows;
        for (auto row = logits.begin(); row != logits.end(); row += width)
            rows.emplace_back(row, row + width);
        return rows;
    }

private:
    struct cache {
        std::size_t input;
        std::string output;
        std::vector<char> bytes;
    };

    static octet::network_options options() {
        octet::network_options options;
        options.rows_alike = true;
        return options;
    }
    /// Nothing where the model has no such input.
    void give(const std::string &name, const tokens &values, octet::dim_t count) {
        for (std::size_t i = 0; i < net_.input_count(); i++)
            if (octet::tensor_view x = net_.input(i); x.name() == name) {
                x.resize({1, count});
                net_.input(i).copy_from(values);
            }
    }

    octet::network net_;
    std::vector<cache> caches_;
    octet::dim_t done_ = 0;
};

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
            all.push_back(std::atoll(token.c_str()));
        const std::size_t given = all.size(), count = given + static_cast<std::size_t>(std::atoll(argv[3]));
        const std::size_t chunk = argc > 5 ? static_cast<std::size_t>(std::atoll(argv[5])) : given;
        if (given == 0 || chunk == 0 || count <= given)
            throw octet::error(octet::status::invalid_arguments, "the prompt, COUNT or CHUNK is empty or 0");
        decoder d(argv[1]);
        std::vector<std::string> sums;
        while (all.size() < count) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(sums.size());
            const auto part = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chunk), all.end() - first);
            const std::vector<std::vector<float>> logits = d.run({first, first + part});
            for (const std::vector<float> &row : logits)
                sums.push_back(checksum(row));
            if (sums.size() == all.size())
                all.push_back(std::max_element(logits.back().begin(), logits.back().end()) -
                              logits.back().begin());
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
