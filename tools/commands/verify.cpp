// octet verify: computes the logits of a decoder's transcript again, in chunks of a sequence, and names the first
// position that differs. That can work because with `rows_alike` a token's logits do not depend on how the sequence was
// cut when it was generated (doc/decoders.md). A network that octet::decoder does not take gets all tokens at once.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <zlib.h>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/options.hpp"
#include "commands/commands.hpp"
#include "octet/decoder.hpp"

namespace octet::tools {
namespace {

struct verify_options {
    std::string model, transcript;
    machine_options machine;
    bool json = false;
};

[[noreturn]] void refuse(const std::string &sentence) { throw error(status::invalid_arguments, sentence); }

struct transcript {
    std::vector<std::int32_t> tokens;
    std::vector<std::string> sums; ///< of the logits behind each of the first tokens
};

transcript read_transcript(const std::string &path) {
    const std::vector<std::uint8_t> bytes = read_file(path);
    const json root = json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!root.is_object() || root.value("format", json()) != "octet transcript 1")
        refuse(path + ": is no JSON object with \"format\": \"octet transcript 1\"");
    transcript t;
    try {
        for (const auto token : root.at("tokens").get<std::vector<std::int64_t>>()) {
            t.tokens.push_back(static_cast<std::int32_t>(token));
            if (t.tokens.back() != token)
                refuse(path + ": a token is " + std::to_string(token) + ", allowed: integers of 32 bits");
        }
        t.sums = root.at("logits_crc32").get<std::vector<std::string>>();
    } catch (const json::exception &) {
        refuse(path + ": \"tokens\" is no list of integers, or \"logits_crc32\" none of texts");
    }
    if (t.sums.empty() || t.sums.size() > t.tokens.size())
        refuse(path + ": \"logits_crc32\" has " + std::to_string(t.sums.size()) +
               " checksums, allowed: 1 to " + std::to_string(t.tokens.size()) + ", the number of tokens");
    return t;
}

/// All tokens at once, behind an empty past.
void give(network &net, const std::vector<std::int32_t> &tokens, const std::string &model) {
    const auto count = static_cast<dim_t>(tokens.size());
    for (std::size_t i = 0; i < net.input_count(); i++) {
        tensor_view x = net.input(i);
        memory::dims dims = x.dims();
        const bool is_past = x.name().rfind("past_key_values.", 0) == 0;
        if (dims.size() != (is_past ? 4 : 2))
            refuse(model + ": input " + x.text() + " is not one of a decoder (doc/decoders.md)");
        dims[0] = 1;
        dims[is_past ? 2 : 1] = is_past ? 0 : count;
        x.resize(dims);
    }
    std::vector<std::int32_t> ones(tokens.size(), 1), places(tokens.size());
    for (std::size_t p = 0; p < places.size(); p++)
        places[p] = static_cast<std::int32_t>(p);
    for (std::size_t i = 0; i < net.input_count(); i++) {
        const tensor_view x = net.input(i);
        if (x.name().rfind("past_key_values.", 0) != 0)
            x.copy_from(x.name() == "input_ids" ? tokens : x.name() == "position_ids" ? places : ones);
    }
}

std::string checksum(const std::uint8_t *bytes, std::size_t size) {
    char text[9];
    std::snprintf(text, sizeof(text), "%08lx", crc32(0, bytes, static_cast<uInt>(size)));
    return text;
}

/// Chunks bound the memory that logits take.
std::vector<std::string> checksums_of_sequence(decoder &model, const std::vector<std::int32_t> &tokens) {
    constexpr std::size_t chunk = 512;
    sequence text = model.new_sequence();
    std::vector<std::string> sums;
    while (sums.size() < tokens.size()) {
        const std::size_t count = std::min(chunk, tokens.size() - sums.size());
        const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(sums.size());
        const std::vector<float> logits =
            model.run({{&text, {first, first + static_cast<std::ptrdiff_t>(count)}, true}}).front();
        const std::size_t row = logits.size() / count;
        for (std::size_t i = 0; i < count; i++)
            sums.push_back(checksum(reinterpret_cast<const std::uint8_t *>(logits.data() + i * row),
                                    row * sizeof(float)));
    }
    return sums;
}

std::vector<std::string> checksums_at_once(const verify_options &options,
                                           const std::vector<std::int32_t> &tokens) {
    network_options how;
    how.rows_alike = true;
    network net(options.model, how);
    give(net, tokens, options.model);
    net.run();
    const tensor_view logits = net.output("logits");
    if (logits.dims().size() != 3 || logits.dims()[1] != static_cast<dim_t>(tokens.size()))
        refuse(options.model + ": output " + logits.text() + " has no row for each of " +
               std::to_string(tokens.size()) + " tokens");
    const std::size_t row = logits.size_in_bytes() / tokens.size();
    std::vector<std::string> sums;
    for (std::size_t p = 0; p < tokens.size(); p++)
        sums.push_back(checksum(static_cast<const std::uint8_t *>(logits.data()) + p * row, row));
    return sums;
}

std::vector<std::string> checksums(const verify_options &options, const std::vector<std::int32_t> &tokens) {
    decoder_options how;
    how.capacity = static_cast<dim_t>(tokens.size());
    try {
        decoder model(options.model, how);
        return checksums_of_sequence(model, tokens);
    } catch (const error &e) { // a network of another form, or what the other way refuses, too
        if (e.status != status::invalid_arguments && e.status != status::unimplemented)
            throw;
    }
    return checksums_at_once(options, tokens);
}

void verify(const verify_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    transcript t = read_transcript(options.transcript);
    t.tokens.resize(t.sums.size());
    const std::vector<std::string> sums = checksums(options, t.tokens);
    const auto first = std::mismatch(sums.begin(), sums.end(), t.sums.begin()).first;
    const bool are_equal = first == sums.end();
    const auto position = static_cast<std::size_t>(first - sums.begin());
    if (options.json)
        print({{"model", options.model},
               {"transcript", options.transcript},
               {"positions", sums.size()},
               {"first_different", are_equal ? json() : json(position)}});
    else if (are_equal)
        std::cout << "all " << sums.size() << " positions have the same logits\n";
    else
        std::cout << "position " << position << " of " << sums.size() << " differs, behind token "
                  << t.tokens[position] << ": the logits have " << *first << ", the transcript has "
                  << t.sums[position] << '\n';
    if (!are_equal)
        throw CLI::RuntimeError(1);
}

} // namespace

void add_verify_command(CLI::App &app) {
    auto options = std::make_shared<verify_options>();
    CLI::App *command = app.add_subcommand("verify", "Compute a decoder's transcript again, in one pass");
    command->add_option("MODEL", options->model, "The decoder's .onnx file")->type_name("")->required();
    command
        ->add_option("TRANSCRIPT", options->transcript,
                     "JSON file with tokens and a checksum of the logits behind each (doc/decoders.md)")
        ->type_name("")
        ->required();
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->footer("Exit code 0: all logits are the same; 1: some differ; 2: it cannot be computed.");
    command->callback([options] { verify(*options); });
}

} // namespace octet::tools
