// octet completion SHELL: a script for the shell, made of the options themselves, so that it cannot fall behind them.
//
// An option tells what may follow it: words that it checks (options.hpp), a file, or something that cannot be
// guessed. A command's operands are files; those of `preload` are programs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/commands.hpp"
#include "octet/error.hpp"

namespace octet::tools {
namespace {

/// An option as a shell needs it.
struct completed_option {
    std::vector<std::string> names; ///< "--help", "-h"
    std::string description;        ///< between single quotes
    bool takes_value = false;
    std::vector<std::string> words; ///< words that it allows, if these are known
    bool takes_path = false;
};

struct completed_command {
    std::string name, description; ///< between single quotes
    std::vector<completed_option> options;
    std::vector<std::string> operands; ///< words that may stand behind it, if these are known
    bool is_launcher = false;          ///< a program and its arguments follow
};

/// The text of help, up to the first clause.
std::string brief(const std::string &text) {
    std::string result = text.substr(0, text.find_first_of(";:(["));
    result.erase(result.find_last_not_of(" ,") + 1);
    return result;
}

/// As it stands between single quotes, in each of the shells.
std::string quoted(const std::string &text) {
    std::string result;
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result;
}

std::vector<std::string> words_of(CLI::Option &o) {
    try {
        return allowed_words(*o.get_validator(0));
    } catch (const CLI::OptionNotFound &) { // nothing is checked
        return {};
    }
}

completed_option completed(CLI::Option &o) {
    completed_option result;
    for (const std::string &name : o.get_lnames())
        result.names.push_back("--" + name);
    for (const std::string &name : o.get_snames())
        result.names.push_back("-" + name);
    result.description = quoted(brief(o.get_description()));
    result.takes_value = o.get_items_expected_max() > 0;
    result.words = words_of(o);
    for (const char *kind : {"FILE", "DIR", "PATH"})
        result.takes_path |= o.get_type_name().find(kind) != std::string::npos;
    return result;
}

completed_command completed(CLI::App &app) {
    completed_command result{
        app.get_name(), quoted(brief(app.get_description())), {}, {}, app.get_prefix_command()};
    for (CLI::Option *o : app.get_options())
        if (!o->get_positional())
            result.options.push_back(completed(*o));
        else if (const std::vector<std::string> words = words_of(*o); !words.empty())
            result.operands = words;
    return result;
}

std::vector<completed_command> commands_of(CLI::App &app) {
    std::vector<completed_command> commands;
    for (CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        commands.push_back(completed(*command));
    return commands;
}

std::string joined(const std::vector<std::string> &words, const char *separator = " ") {
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

std::vector<std::string> option_names(const completed_command &c) {
    std::vector<std::string> names;
    for (const completed_option &o : c.options)
        names.insert(names.end(), o.names.begin(), o.names.end());
    return names;
}

std::vector<std::string> command_names(const std::vector<completed_command> &commands) {
    std::vector<std::string> names;
    for (const completed_command &c : commands)
        names.push_back(c.name);
    return names;
}

// ---- bash

/// Branches of `case $previous`: what may follow each option.
std::string bash_values(const completed_command &c) {
    std::string text;
    for (const completed_option &o : c.options)
        if (o.takes_value && !o.takes_path)
            text += "        " + joined(o.names, "|") + ") words=" + '"' + joined(o.words) + "\" files= ;;\n";
        else if (o.takes_value)
            text += "        " + joined(o.names, "|") + ") words= ;;\n";
    return text;
}

std::string bash(const completed_command &top, const std::vector<completed_command> &commands) {
    std::string text = "_octet() {\n"
                       "    local current=$2 previous=$3 command= words= files=yes word\n"
                       "    [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD-2]}\n"
                       "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                       "        case $word in\n"
                       "        " +
                       joined(command_names(commands), "|") +
                       ") command=$word; break ;;\n"
                       "        esac\n"
                       "    done\n"
                       "    case $command in\n"
                       "    '') words='" +
                       joined(command_names(commands)) + ' ' + joined(option_names(top)) + "' files= ;;\n";
    for (const completed_command &c : commands) {
        text += "    " + c.name + ")\n";
        if (c.is_launcher)
            text +=
                "        [[ $current == -* ]] || { COMPREPLY=($(compgen -c -- \"$current\")); return; }\n";
        text += "        words='" + joined(option_names(c)) + "'\n";
        if (!c.operands.empty())
            text += "        [[ $current == -* ]] || words='" + joined(c.operands) + "' files=\n";
        else
            text += "        [[ $current == -* ]] || words=\n";
        text += "        case $previous in\n" + bash_values(c) + "        esac ;;\n";
    }
    return text + "    esac\n"
                  "    [[ $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$current\")) || COMPREPLY=()\n"
                  "    [[ $files ]] || compopt +o default 2>/dev/null\n"
                  "}\n"
                  "complete -o default -F _octet octet\n";
}

// ---- zsh

std::string zsh_option(const completed_option &o) {
    std::string text;
    for (const std::string &name : o.names) {
        text += " \\\n            '*" + name + "[" + o.description + "]";
        if (o.takes_value)
            text += ":value:" + (!o.words.empty() ? "(" + joined(o.words) + ")"
                                 : o.takes_path   ? std::string("_files")
                                                  : std::string());
        text += "'";
    }
    return text;
}

std::string zsh(const completed_command &top, const std::vector<completed_command> &commands) {
    std::string text = "#compdef octet\n"
                       "_octet() {\n"
                       "    local -a commands\n"
                       "    commands=(";
    for (const completed_command &c : commands)
        text += "\n        '" + c.name + ":" + c.description + "'";
    text += ")\n"
            "    if (( CURRENT == 2 )); then\n"
            "        _describe command commands\n"
            "        compadd -- " +
            joined(option_names(top)) +
            "\n        return\n"
            "    fi\n"
            "    local command=$words[2]\n"
            "    shift words\n"
            "    (( CURRENT-- ))\n"
            "    case $command in\n";
    for (const completed_command &c : commands) {
        text += "    " + c.name + ")\n        _arguments";
        for (const completed_option &o : c.options)
            text += zsh_option(o);
        text += std::string(" \\\n            '*") + (c.is_launcher ? "::program:_normal" : ":operand:") +
                (!c.operands.empty() ? "(" + joined(c.operands) + ")"
                 : c.is_launcher     ? ""
                                     : "_files") +
                "' ;;\n";
    }
    return text + "    esac\n"
                  "}\n"
                  "[[ $funcstack[1] == _octet ]] && _octet \"$@\" || compdef _octet octet\n";
}

// ---- fish

std::string fish_option(const completed_option &o, const std::string &condition) {
    std::string text = "complete -c octet -n '" + condition + "'";
    for (const std::string &name : o.names)
        text += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += " -d '" + o.description + "'";
    if (o.takes_value)
        text += !o.words.empty() ? " -x -a '" + joined(o.words) + "'" : o.takes_path ? " -r -F" : " -x";
    return text + '\n';
}

std::string fish(const completed_command &top, const std::vector<completed_command> &commands) {
    const std::string none = "__fish_use_subcommand";
    std::string text;
    for (const completed_command &c : commands)
        text += "complete -c octet -f -n " + none + " -a " + c.name + " -d '" + c.description + "'\n";
    for (const completed_option &o : top.options)
        text += fish_option(o, none);
    for (const completed_command &c : commands) {
        const std::string behind = "__fish_seen_subcommand_from " + c.name;
        if (!c.operands.empty())
            text += "complete -c octet -f -n '" + behind + "' -a '" + joined(c.operands) + "'\n";
        if (c.is_launcher)
            text +=
                "complete -c octet -f -n '" + behind + "' -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
        for (const completed_option &o : c.options)
            text += fish_option(o, behind);
    }
    return text;
}

} // namespace

void add_completion_command(CLI::App &app) {
    const auto shell = std::make_shared<std::string>();
    CLI::App *command =
        app.add_subcommand("completion", "Print a script with which a shell completes octet's words");
    command->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->check(word_of({"bash", "zsh", "fish"}));
    command->footer("bash:  source <(octet completion bash)\n"
                    "zsh:   source <(octet completion zsh)\n"
                    "fish:  octet completion fish | source\n"
                    "An installation has the scripts where the shells look for them.");
    command->callback([shell, &app] {
        const std::string head =
            "# Completion of octet's words, made by `octet completion " + *shell + "`.\n";
        const completed_command top = completed(app);
        const std::vector<completed_command> commands = commands_of(app);
        if (*shell == "bash")
            std::cout << head << bash(top, commands);
        else if (*shell == "zsh")
            std::cout << zsh(top, commands);
        else
            std::cout << head << fish(top, commands);
    });
}

} // namespace octet::tools
