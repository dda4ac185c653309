// octet preload: runs a program of oneDNN's with liboctet_dnnl in front of oneDNN (doc/onednn.md), or one of
// ONNX Runtime's with liboctet_onnxruntime_preload in front of that (doc/onnxruntime.md). It stays the
// program's parent to tell, at the end, if nothing called the library: then it did nothing, and the reason is
// not obvious.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.hpp"
#include "base/options.hpp"
#include "commands/commands.hpp"
#include "octet/octet.hpp"

extern char **environ;

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

struct preload_options {
    machine_options machine;
    bool verbose = false, onnxruntime = false;
    std::vector<std::string> program;
};

/// A library of Octet and the one that it stands in front of.
struct front {
    const char *library, *built, *otherwise; ///< arguments of library_beside
    const char *report;                      ///< names the file of the report to the library
    const char *unused;                      ///< the sentence that is printed if nothing called the library
};

constexpr front onednn{
    "liboctet_dnnl.so", "interop/onednn/preload", "it is built with OCTET_BUILD_DNNL=ON", "OCTET_DNNL_REPORT",
    "nothing called oneDNN through liboctet_dnnl (no libdnnl.so, or one that is linked into "
    "the program or loaded with RTLD_DEEPBIND)"};
constexpr front onnxruntime{
    "liboctet_onnxruntime_preload.so", "interop/onnxruntime", "its Debian package is liboctet-onnxruntime",
    "OCTET_ONNXRUNTIME_REPORT",
    "nothing made a session through liboctet_onnxruntime_preload (no libonnxruntime.so, one "
    "before 1.23, or one that is linked into a module, as in Python: see octet onnxruntime)"};

/// A file to which each process that calls the library adds a byte.
class report_file {
public:
    report_file() {
        std::string pattern = (fs::temp_directory_path() / "octet_preload_XXXXXX").string();
        const int file = mkstemp(pattern.data());
        if (file < 0)
            throw error(status::runtime_error,
                        "preload: cannot make a file in " + fs::temp_directory_path().string());
        close(file);
        path_ = pattern;
    }
    ~report_file() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    report_file(const report_file &) = delete;
    report_file &operator=(const report_file &) = delete;

    const std::string &path() const { return path_; }
    bool is_empty() const {
        std::error_code ignored;
        return fs::file_size(path_, ignored) == 0;
    }
    std::string text() const {
        std::ifstream file(path_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string path_;
};

/// The sum of the lines that interop/onednn/preload/tally.hpp wrote for each process.
struct summary {
    struct row {
        unsigned long count = 0;
        std::string text; ///< "convolution", "reorder (no 8-bit source)"
    };
    std::map<std::string, std::vector<row>> rows; ///< by "on Octet", "on oneDNN"
    double taken = 0, left = 0;                   ///< seconds

    explicit summary(const std::string &report) {
        std::map<std::pair<std::string, std::string>, unsigned long> counts;
        std::istringstream lines(report);
        for (std::string line; std::getline(lines, line);) {
            std::vector<std::string> cells(1);
            for (const char c : line)
                if (c == '\t')
                    cells.emplace_back();
                else
                    cells.back().push_back(c);
            if (cells.size() == 3 && cells[0] == "seconds") {
                taken += std::strtod(cells[1].c_str(), nullptr);
                left += std::strtod(cells[2].c_str(), nullptr);
            } else if (cells.size() == 4) {
                const std::string reason = cells[2].empty() ? "" : " (" + cells[2] + ")";
                counts[{cells[0], cells[1] + reason}] += std::strtoul(cells[3].c_str(), nullptr, 10);
            }
        }
        for (const auto &[key, count] : counts)
            rows[key.first].push_back({count, key.second});
        for (auto &[place, list] : rows)
            std::stable_sort(list.begin(), list.end(),
                             [](const row &a, const row &b) { return a.count > b.count; });
    }

    void print() const {
        constexpr std::size_t most = 8; // reasons may name shapes
        for (const auto &[place, list] : rows) {
            unsigned long total = 0;
            for (const row &r : list)
                total += r.count;
            std::cerr << "octet: " << total << (total == 1 ? " primitive " : " primitives ") << place << ':';
            for (std::size_t i = 0; i < std::min(list.size(), most); i++)
                std::cerr << (i ? ", " : " ") << list[i].count << ' ' << list[i].text;
            std::cerr << (list.size() > most ? ", …\n" : "\n");
        }
        if (taken + left > 0)
            std::cerr << "octet: " << static_cast<int>(100 * taken / (taken + left) + 0.5)
                      << " % of the time of primitives was Octet's\n";
    }
};

/// Runs the program to its end; its exit code, as a shell tells it.
int run(const std::vector<std::string> &program) {
    std::vector<char *> arguments;
    for (const std::string &argument : program)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (const int failure = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ))
        throw error(status::invalid_arguments, program[0] + ": cannot be started: " + std::strerror(failure));
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

/// Tensors that a client allocates anew at each run are a few hundred page faults if the C library gives
/// their memory back to the system in between, which it does or not by accident of what lies at the heap's
/// end. It keeps such memory by itself once a program has freed a large block; this is the same state, from
/// the start, unless the user has decided.
void keep_freed_memory() {
    constexpr const char *limit = "67108864", *largest_block = "33554432"; // glibc's own, at most
    for (const char *decided :
         {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"})
        if (std::getenv(decided))
            return;
    setenv("MALLOC_TRIM_THRESHOLD_", limit, 1);
    setenv("MALLOC_MMAP_THRESHOLD_", largest_block, 1);
}

/// Decisions are told by the libraries, each in its way.
void tell_more(const preload_options &options) {
    if (!options.onnxruntime) {
        setenv("OCTET_DNNL_VERBOSE", "1", 1);
        return;
    }
    const char *before = std::getenv("OCTET_ONNXRUNTIME_OPTIONS");
    const std::string others = before && *before ? std::string(before) + "," : "";
    setenv("OCTET_ONNXRUNTIME_OPTIONS", (others + "log=1").c_str(), 1);
}

void preload(const preload_options &options) {
    apply(options.machine); // refuses what this machine lacks
    const front &wanted = options.onnxruntime ? onnxruntime : onednn;
    std::string libraries = library_beside(wanted.library, wanted.built, wanted.otherwise);
    if (const char *before = std::getenv("LD_PRELOAD"); before && *before)
        libraries = libraries + ":" + before;
    int exit_code = 0;
    {
        const report_file report;
        setenv("LD_PRELOAD", libraries.c_str(), 1);
        setenv(wanted.report, report.path().c_str(), 1);
        keep_freed_memory();
        if (options.verbose)
            tell_more(options);
        if (!options.machine.isa.empty())
            setenv("OCTET_MAX_CPU_ISA", options.machine.isa.c_str(), 1);
        if (options.machine.threads >= 0)
            setenv("OCTET_NUM_THREADS", std::to_string(options.machine.threads).c_str(), 1);
        exit_code = run(options.program);
        if (report.is_empty())
            std::cerr << "octet: " << wanted.unused << "\n";
        if (!options.onnxruntime)
            summary(report.text()).print();
    }
    if (exit_code != 0)
        throw CLI::RuntimeError(exit_code);
}

} // namespace

void add_preload_command(CLI::App &app) {
    const auto options = std::make_shared<preload_options>();
    CLI::App *command = app.add_subcommand(
        "preload", "Run a program of oneDNN or ONNX Runtime with its int8 operations on Octet");
    command->add_flag("--onnxruntime", options->onnxruntime, "A program of ONNX Runtime");
    command->add_flag("--verbose", options->verbose, "Tell what is taken and what is not, and why");
    add_machine_options(*command, options->machine);
    command->footer("octet preload [OPTIONS] PROGRAM [ARGUMENTS...], for example\n"
                    "  octet preload python3 app.py\n"
                    "  octet preload --onnxruntime node app.js");
    command->prefix_command(); // options behind the program's name are the program's
    command->callback([options, command] {
        options->program = command->remaining();
        if (options->program.empty())
            throw CLI::RequiredError("PROGRAM");
        if (options->program[0].empty())
            throw error(status::invalid_arguments,
                        "PROGRAM: '' given, allowed: a text that is not empty (see octet preload --help)");
        if (options->program[0].front() == '-')
            throw error(status::invalid_arguments, "not expected: " + options->program[0] +
                                                       ", before PROGRAM (see octet preload --help)");
        preload(*options);
    });
}

} // namespace octet::tools
