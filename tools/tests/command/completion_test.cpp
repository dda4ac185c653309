// Scripts of `octet completion` in the shells themselves: what they offer is what the command allows.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <unistd.h>

#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

std::string script(const std::string &shell) { return octet({"completion", shell}).out; }

/// Returns the path of a shell; empty if it is not there.
std::string path_of(const std::string &shell) {
    for (const char *directory : {"/usr/bin/", "/bin/"})
        if (fs::exists(directory + shell))
            return directory + shell;
    return "";
}

std::set<std::string> words_of(const std::string &text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// Returns the completions that bash offers for the last of the words.
std::set<std::string> offered_by_bash(const std::vector<std::string> &words) {
    std::string line = "COMP_WORDS=(";
    for (const std::string &word : words)
        line += "'" + word + "' ";
    line += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _octet octet '" + words.back() + "' '" +
            words[words.size() - 2] + "'; echo \"${COMPREPLY[@]}\"";
    const outcome got = run_program(path_of("bash"), {"--norc", "-c", script("bash") + line});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    return words_of(got.out);
}

std::set<std::string> options_in_help(const std::vector<std::string> &command) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const std::string help = octet(arguments).out;
    std::set<std::string> options;
    const std::regex form("\n  (-h,)?(--[a-z-]+)");
    for (std::sregex_iterator i(help.begin(), help.end(), form), end; i != end; ++i)
        options.insert((*i)[2]);
    return options;
}

const char *const commands[] = {"info",    "inspect", "run",           "save",
                                "serve",   "bench",   "check",         "profiles",
                                "explain", "match",   "match-network", "compare-profiles",
                                "verify",  "preload", "onnxruntime",   "completion"};

TEST(Completion, BashOffersCommandsOptionsAndWords) {
    if (path_of("bash").empty())
        GTEST_SKIP() << "no bash";
    std::set<std::string> all(std::begin(commands), std::end(commands));
    all.insert({"--help", "-h", "--version"});
    EXPECT_EQ(offered_by_bash({"octet", ""}), all);
    EXPECT_EQ(offered_by_bash({"octet", "in"}), (std::set<std::string>{"info", "inspect"}));
    EXPECT_EQ(offered_by_bash({"octet", "run", "--out"}), std::set<std::string>{"--output-dir"});
    EXPECT_EQ(offered_by_bash({"octet", "run", "x", "--format", ""}),
              (std::set<std::string>{"raw", "npy", "npz"}));
    EXPECT_EQ(offered_by_bash({"octet", "run", "x", "--format", "=", "np"}),
              (std::set<std::string>{"npy", "npz"}));
    EXPECT_EQ(offered_by_bash({"octet", "explain", "--isa", "avx_"}), std::set<std::string>{"avx_vnni"});
    EXPECT_EQ(offered_by_bash({"octet", "run", "--input", "ra"}), std::set<std::string>{}) << "a file";
    EXPECT_EQ(offered_by_bash({"octet", "completion", "z"}), std::set<std::string>{"zsh"});
    EXPECT_EQ(offered_by_bash({"octet", "preload", "bas"}).count("bash"), 1u) << "a program";
}

TEST(Completion, EveryOptionIsInEveryScript) {
    std::map<std::string, std::string> scripts;
    for (const char *shell : {"bash", "zsh", "fish"})
        scripts[shell] = script(shell);
    for (const char *command : commands) {
        const std::set<std::string> options = options_in_help({command});
        EXPECT_EQ(options.count("--help"), 1u) << command;
        for (const auto &[shell, text] : scripts)
            for (const std::string &option : options)
                EXPECT_NE(text.find(shell == "fish" ? "-l " + option.substr(2) : option), std::string::npos)
                    << shell << ' ' << command << ' ' << option;
    }
}

/// The script in a file of its own, for shells that read it from there.
class script_file {
public:
    explicit script_file(const std::string &shell)
        : path_((fs::path(testing::TempDir()) / ("octet_" + shell + std::to_string(getpid()))).string()) {
        std::ofstream(path_) << script(shell);
    }
    ~script_file() { fs::remove(path_); }
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

TEST(Completion, FishOffersCommandsOptionsAndWords) {
    const std::string fish = path_of("fish");
    if (fish.empty())
        GTEST_SKIP() << "no fish";
    const script_file file("fish");
    const auto offered = [&](const std::string &line) {
        const outcome got = run_program(
            fish, {"--no-config", "-c", "source " + file.path() + "; complete -C '" + line + "' | cut -f 1"});
        EXPECT_EQ(got.err, "");
        return words_of(got.out);
    };
    EXPECT_EQ(offered("octet "), std::set<std::string>(std::begin(commands), std::end(commands)));
    EXPECT_EQ(offered("octet run --out"), std::set<std::string>{"--output-dir"});
    EXPECT_EQ(offered("octet run x --format "), (std::set<std::string>{"raw", "npy", "npz"}));
    EXPECT_EQ(offered("octet completion z"), std::set<std::string>{"zsh"});
}

TEST(Completion, ZshTakesTheScript) {
    const std::string zsh = path_of("zsh");
    if (zsh.empty())
        GTEST_SKIP() << "no zsh";
    const script_file file("zsh");
    const outcome got = run_program(
        zsh, {"-f", "-c",
              "autoload -U compinit; compinit -u -D; source " + file.path() + "; print $_comps[octet]"});
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.err, "");
    EXPECT_EQ(got.out, "_octet\n");
}

} // namespace
} // namespace octet::tests
