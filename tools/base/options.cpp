// Checks of options, and what CLI11 finds wrong in the words of this command.
// SPDX-License-Identifier: Apache-2.0
#include "base/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/print.hpp"

namespace octet::tools {
namespace {

constexpr int max_threads = 4096; ///< bound of set_num_threads and OCTET_NUM_THREADS

std::string not_allowed(const std::string &given, const std::string &allowed) {
    return "'" + given + "' given, allowed: " + allowed;
}

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (int level = 0; level <= static_cast<int>(cpu_isa::all); level++)
        names.emplace_back(to_string(static_cast<cpu_isa>(level)));
    return names;
}

const std::string threads_help =
    "Threads, 0 to " + std::to_string(max_threads) + "; 0: as many as the process may use";

CLI::Validator thread_count() { return whole_number(0, max_threads); }

void add_isa_option(CLI::App &command, std::string &isa) {
    command.add_option("--isa", isa, "Highest instruction set: " + list_text(level_names()))
        ->type_name("LEVEL")
        ->check(word_of(level_names()));
}

void set_isa(const std::string &name) {
    if (name.empty())
        return;
    set_max_cpu_isa(cpu_isa_from_string(name)); // first: higher levels are not asked for
    available_isa(name);
}

} // namespace

CLI::Validator whole_number(long long low, long long high) {
    const auto check = [=](const std::string &text) {
        long long value = 0;
        const char *end = text.data() + text.size();
        const auto [stop, failure] = std::from_chars(text.data(), end, value);
        const bool is_allowed = stop == end && failure == std::errc() && value >= low && value <= high;
        return is_allowed ? std::string()
                          : not_allowed(text, std::to_string(low) + " to " + std::to_string(high));
    };
    return CLI::Validator(check, "");
}

CLI::Validator number_from_zero() {
    const auto check = [](const std::string &text) {
        char *end = nullptr;
        const float value = std::strtof(text.c_str(), &end);
        const bool is_allowed = !text.empty() && *end == '\0' && value >= 0 && std::isfinite(value);
        return is_allowed ? std::string() : not_allowed(text, "numbers from 0");
    };
    return CLI::Validator(check, "");
}

// A validator keeps nothing but a function, a description, which help would show, and a name. The name holds the
// words.
CLI::Validator web_origin() {
    const auto check = [](const std::string &text) {
        const std::size_t scheme = text.find("://");
        const std::string host = scheme == std::string::npos ? "" : text.substr(scheme + 3);
        const bool is_http = text.substr(0, scheme) == "http" || text.substr(0, scheme) == "https";
        const auto is_plain = [](unsigned char c) {
            return c > ' ' && c < 127 && !std::strchr("/?#@,\"", c);
        };
        const bool is_origin = is_http && !host.empty() && std::all_of(host.begin(), host.end(), is_plain);
        return is_origin || text == "*" ? std::string()
                                        : not_allowed(text, "* and origins like https://example.org:8443");
    };
    return CLI::Validator(check, "");
}

CLI::Validator word_of(const std::vector<std::string> &words) {
    const auto check = [words](const std::string &text) {
        const bool is_allowed = std::find(words.begin(), words.end(), text) != words.end();
        return is_allowed ? std::string() : not_allowed(text, list_text(words));
    };
    return CLI::Validator(check, "", list_text(words));
}

std::vector<std::string> allowed_words(const CLI::Validator &check) {
    std::vector<std::string> words;
    std::istringstream text(check.get_name());
    for (std::string word; std::getline(text, word, ',');) {
        words.push_back(word);
        text >> std::ws;
    }
    return words;
}

cpu_isa available_isa(const std::string &name) {
    const cpu_isa level = cpu_isa_from_string(name);
    const std::vector<cpu_isa> available = get_available_cpu_isas();
    if (std::find(available.begin(), available.end(), level) != available.end())
        return level;
    throw error(status::invalid_arguments,
                "--isa: this machine does not run " + name + ", only " + isa_names(available));
}

void add_machine_options(CLI::App &command, machine_options &options) {
    command.add_option("--threads", options.threads, threads_help)->type_name("N")->check(thread_count());
    add_isa_option(command, options.isa);
}

void apply(const machine_options &options) {
    set_isa(options.isa);
    if (options.threads >= 0)
        set_num_threads(options.threads);
}

void add_machine_options(CLI::App &command, bench_machine_options &options) {
    command.add_option("--threads", options.threads, threads_help + "; several counts, as 1,2, take turns")
        ->type_name("N[,N]")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(thread_count());
    add_isa_option(command, options.isa);
}

std::vector<int> apply(const bench_machine_options &options) {
    set_isa(options.isa);
    std::vector<int> counts;
    for (const int given : options.threads.empty() ? std::vector<int>{-1} : options.threads) {
        if (given >= 0)
            set_num_threads(given);
        const int count = get_num_threads();
        if (std::find(counts.begin(), counts.end(), count) != counts.end())
            throw error(status::invalid_arguments, "--threads: " + std::to_string(count) + " given twice");
        counts.push_back(count);
    }
    return counts;
}

CLI::Option *add_profile_option(CLI::App &command, std::string &profile) {
    return command
        .add_option("--profile", profile,
                    "Runtime whose bytes a .tflite network gives (octet profiles lists them); by default "
                    "TensorFlow Lite Micro's")
        ->type_name("NAME");
}

CLI::Option *add_rule_option(CLI::App &command, std::string &rule, const std::string &description) {
    std::vector<std::string> names;
    for (const requantization_rule r : all_requantization_rules())
        names.emplace_back(to_string(r));
    return command.add_option("--rule", rule, description + " (octet info lists them)")
        ->type_name("RULE")
        ->capture_default_str()
        ->check(word_of(names));
}

void refuse_empty_values(CLI::App &app) {
    const auto check = [](const std::string &text) {
        return text.empty() ? not_allowed(text, "a text that is not empty") : std::string();
    };
    for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
        for (CLI::Option *option : command->get_options())
            option->check(check);
}

namespace {

/// How many letters are inserted, left out, replaced or exchanged with the next one between two words.
std::size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); i++)
        for (std::size_t k = 0; k <= b.size(); k++) {
            if (i == 0 || k == 0) {
                d[i][k] = i + k;
                continue;
            }
            d[i][k] = std::min({d[i - 1][k] + 1, d[i][k - 1] + 1, d[i - 1][k - 1] + (a[i - 1] != b[k - 1])});
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = std::min(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[a.size()][b.size()];
}

/// "; did you mean NAME?" for the name of `app` that a third of the word's letters or fewer keep from `word`.
std::string suggestion(const std::string &word, const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    for (const CLI::Option *option : app.get_options())
        for (const std::string &name : option->get_lnames())
            names.push_back("--" + name);
    std::pair<std::size_t, std::string> best{word.size() / 3 + 1, {}};
    for (const std::string &name : names)
        best = std::min(best, {distance(word, name), name});
    return best.second.empty() ? "" : "; did you mean " + best.second + "?";
}

} // namespace

std::string usage_text(const CLI::ParseError &e, const CLI::App &app) {
    std::string text = e.what();
    const std::string first = text.substr(0, text.find(':')), last = text.substr(text.rfind(": ") + 2);
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&e)) {
        // "--threads: 1 required N missing", "--isa: At Most 1 required but …"
        const bool is_missing = text.find("At Most") == std::string::npos;
        text = first + (is_missing ? " needs a value" : " is given more than once");
    } else if (dynamic_cast<const CLI::ConversionError *>(&e)) {
        // "Could not convert: --pin = x", of a flag: other options have checks of their own
        const std::string option = last.substr(0, last.find(" = "));
        text = option + ": '" + last.substr(std::min(last.size(), option.size() + 3)) +
               "' given, it takes no value";
    } else if (dynamic_cast<const CLI::ExtrasError *>(&e)) {
        // Its text has the words in reverse.
        const std::vector<std::string> words = app.remaining(true);
        const std::string first_word = words.empty() ? last : words.front();
        text = app.get_subcommands().empty()
                   ? "unknown command or option: " + first_word + suggestion(first_word, app)
                   : "not expected: " + first_word + suggestion(first_word, *app.get_subcommands().front());
    }
    const std::string command =
        app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
    return text + " (see octet" + command + " --help)";
}

} // namespace octet::tools
