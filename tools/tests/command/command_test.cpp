// The `octet` command as a user meets it: what each wrong request is answered with (exit code 2 and one line
// on stderr), and that results which cannot be written are a failure, found before the work.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "base/print.hpp"
#include "support/paths.hpp"
#include "tools/tests/command/fixture.hpp"

namespace octet::tests {
namespace {

/// A terminal for as long as it lives, of which `file` is the side that programs write to.
struct terminal {
    terminal() : master(posix_openpt(O_RDWR | O_NOCTTY)) {
        grantpt(master);
        unlockpt(master);
        file = ::open(ptsname(master), O_RDWR | O_NOCTTY);
    }
    ~terminal() {
        ::close(file);
        ::close(master);
    }
    int master, file = -1;
};

// ---- Colours

TEST(Colours, AreForTerminalsThatHaveThem) {
    const terminal t;
    ASSERT_GE(t.file, 0);
    const auto shown = [&](const char *no_color, const char *term, int file) {
        no_color ? setenv("NO_COLOR", no_color, 1) : unsetenv("NO_COLOR");
        setenv("TERM", term, 1);
        return tools::inked("x", tools::ink::bad, file);
    };
    EXPECT_EQ(shown(nullptr, "xterm", t.file), "\033[31mx\033[0m");
    EXPECT_EQ(shown("", "xterm", t.file), "\033[31mx\033[0m");
    EXPECT_EQ(shown("1", "xterm", t.file), "x");
    EXPECT_EQ(shown(nullptr, "dumb", t.file), "x");
    EXPECT_EQ(shown(nullptr, "xterm", ::open("/dev/null", O_WRONLY | O_CLOEXEC)), "x");
    EXPECT_EQ(shown(nullptr, "xterm", -1), "x");
}

// ---- Requests

TEST_F(CommandTest, EveryCommandHasHelp) {
    for (const std::vector<std::string> &arguments : {std::vector<std::string>{"--help"},
                                                      {"info", "--help"},
                                                      {"run", "--help"},
                                                      {"save", "--help"},
                                                      {"bench", "--help"},
                                                      {"check", "--help"},
                                                      {"profiles", "--help"},
                                                      {"explain", "--help"},
                                                      {"inspect", "--help"},
                                                      {"completion", "--help"},
                                                      {"serve", "--help"},
                                                      {"--version"}}) {
        const outcome got = octet(arguments);
        EXPECT_EQ(got.exit_code, 0) << command_line(arguments);
        EXPECT_EQ(got.err, "") << command_line(arguments);
        EXPECT_NE(got.out, "") << command_line(arguments);
        EXPECT_EQ(got.out.find("{false}"), std::string::npos) << command_line(arguments);
    }
}

TEST_F(CommandTest, WrongUsageIsOneLine) {
    expect_refusals({
        {{},
         "a command (info, inspect, run, save, serve, bench, check, profiles, explain, match, "
         "match-network, compare-profiles, verify, preload, onnxruntime or completion) is required "
         "(see "
         "octet --help)"},
        {{"serve", "--cors-origin", "https://a.example/page"},
         "--cors-origin: 'https://a.example/page' given, allowed: * and origins like "
         "https://example.org:8443 "
         "(see octet serve --help)"},
        {{"nosuch"}, "unknown command or option: nosuch (see octet --help)"},
        {{"bnech"}, "unknown command or option: bnech; did you mean bench? (see octet --help)"},
        {{"run", "M", "--thread", "2"},
         "not expected: --thread; did you mean --threads? (see octet run --help)"},
        {{"nosuch", "M"}, "unknown command or option: nosuch (see octet --help)"},
        {{"preload", "--nosuch", "/bin/true"},
         "not expected: --nosuch, before PROGRAM (see octet preload --help)"},
        {{"--nosuch"}, "unknown command or option: --nosuch (see octet --help)"},
        {{"info", "extra"}, "not expected: extra (see octet info --help)"},
        {{"info", "--nosuch"}, "not expected: --nosuch (see octet info --help)"},
        {{"run"}, "MODEL is required (see octet run --help)"},
        {{"run", "M", "extra"}, "not expected: extra (see octet run --help)"},
        {{"run", "M", "--nosuch"}, "not expected: --nosuch (see octet run --help)"},
        {{"run", "M", "--isa", "ref", "--isa", "ref"},
         "--isa is given more than once (see octet run --help)"},
        {{"run", "M", "--json=x"}, "--json: 'x' given, it takes no value (see octet run --help)"},
        {{"run", "M", "--repeat"}, "--repeat needs a value (see octet run --help)"},
        {{"run", "M", "--input"}, "--input needs a value (see octet run --help)"},
        {{"run", "M", "--repeat", "0"}, "--repeat: '0' given, allowed: 1 to 1000000 (see octet run --help)"},
        {{"run", "M", "--batch", "two"},
         "--batch: 'two' given, allowed: 1 to 1000000 (see octet run --help)"},
        {{"run", "M", "--rule", "nosuch"}, "--rule: 'nosuch' given, allowed: automatic, none, f32, …"},
        {{"run", "M", "--isa", "nosuch"}, "--isa: 'nosuch' given, allowed: ref, avx2, …"},
        {{"bench"}, "--shapes, --problem, --network or --compare is required (see octet bench --help)"},
        {{"bench", "--problem", "nosuch"}, "…"},
        {{"explain", "--problem", "nosuch"}, "…"},
        {{"bench", "--shapes"}, "--shapes needs a value (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--baseline", "nosuch"},
         "--baseline: 'nosuch' given, allowed: onednn, onnxruntime, static (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--dynamic", "s5"},
         "--dynamic: 's5' given, allowed: s8, u8, s4, u4, each also with :GROUP, from 1 to 32768"},
        {{"bench", "--shapes", "D/empty", "--dynamic", "s4:0"},
         "--dynamic: 's4:0' given, allowed: s8, u8, s4, u4, each also with :GROUP, from 1 to 32768"},
        {{"bench", "--shapes", "D/empty", "--dynamic", "s8", "--types", "u8:s8:u8"},
         "--types excludes --dynamic (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--dynamic", "s8", "--baseline", "onednn"},
         "--baseline onednn: static goes with --dynamic, and no other baseline does (see octet bench "
         "--help)"},
        {{"bench", "--shapes", "D/empty", "--baseline", "static"},
         "--baseline static: static goes with --dynamic, and no other baseline does (see octet bench "
         "--help)"},
        {{"bench", "--shapes", "D/empty", "--ip", "--matmul"},
         "--ip excludes --matmul (see octet bench --help)"},
        {{"bench", "--shapes", "D/empty", "--types", "u8"},
         "--types: 'u8' given, the form is src:weights:dst, e.g. u8:s8:u8"},
        {{"bench", "--shapes", "D/empty", "--types", "u8:s9:u8"},
         "--types: 's9' given, allowed: u8, s8, s32, f32"},
        {{"check"}, "FILE is required (see octet check --help)"},
        {{"check", goldens, "--impl", "nosuch"},
         "--impl: 'nosuch' given, allowed: ref, jit (see octet check --help)"},
        {{"check", goldens, "--op", "nosuch"}, "--op: the file has no 'nosuch', but digits_int8"},
        {{"explain"}, "either MODEL or --problem is required (see octet explain --help)"},
        {{"explain", "M", "--node", "99"}, "--node: 99 given, but …"},
        {{"explain", "M", "--node", "-1"},
         "--node: '-1' given, allowed: 0 to 1000000 (see octet explain --help)"},
    });
}

TEST_F(CommandTest, SizesOfInputsAreChecked) {
    for (const char *command : {"run", "inspect", "explain"}) {
        for (const char *wrong : {"image=1x", "1xx8", "9999999999999x2", "=", "image=-1"})
            expect_refusals({{{command, "M", "--shape", wrong},
                              "--shape: '" + std::string(wrong) +
                                  "' given, the form is NAME=1x128, sizes from 0 to 1000000000"}});
        expect_refusals({{{command, "M", "--shape", "nosuch=1x8x8x1"},
                          model + ": shape of 'nosuch': the network's inputs are 'image'"},
                         {{command, "M", "--shape", "1x8x8"},
                          model + ": shape 1x8x8 of input 'image': it has 3 dimensions, allowed is 4"},
                         {{command, "M", "--dimension", "nosuch=2"},
                          model + ": dimension 'nosuch': no input has a dimension of this name"},
                         {{command, "M", "--dimension", "a=b"},
                          "--dimension: 'a=b' given, the form is NAME=128, sizes from 0 to 1000000000"}});
    }
    expect_refusals({{{"run", "M", "--shape", "1x8x8x3"}, model + ": node 0 (CONV_2D): …"},
                     {{"run", "M", "--shape", "1x8x8x0"}, model + ": …"}});
}

TEST_F(CommandTest, AnOnnxNetworkHasOneContract) {
    const std::string onnx = source_path("examples/digits/digits_int8.onnx");
    expect_refusals(
        {{{"run", onnx, "--rule", "tflite_2step"},
          onnx + ": node 1 (QLinearConv): rule tflite_2step: an .onnx network has ONNX Runtime's contract "
                 "and no other, allowed is automatic"}});
}

TEST_F(CommandTest, ThreadsHaveOneRangeEverywhere) {
    for (const std::vector<std::string> &command : {std::vector<std::string>{"run", "M"},
                                                    {"explain", "M"},
                                                    {"check", goldens},
                                                    {"bench", "--shapes", "D/empty"}})
        for (const char *wrong : {"-1", "4097", "1.5", "all", ""}) {
            std::vector<std::string> arguments = command;
            arguments.insert(arguments.end(), {"--threads", wrong});
            expect_refusals(
                {{arguments, "--threads: '" + std::string(wrong) + "' given, allowed: 0 to 4096 (see octet " +
                                 command[0] + " --help)"}});
        }
    for (const char *right : {"0", "1", "300"})
        EXPECT_EQ(octet({"explain", model, "--node", "0", "--threads", right}).exit_code, 0) << right;
}

// ---- Files that are read

TEST_F(CommandTest, FilesThatCannotBeReadAreNamed) {
    for (const char *command : {"run", "explain", "check"})
        expect_refusals({{{command, "D/absent"}, "D/absent: does not exist"},
                         {{command, "D/absent.tflite"}, "D/absent.tflite: does not exist"},
                         {{command, "D/absent.onnx"}, "D/absent.onnx: does not exist"},
                         {{command, "D/empty/below"}, "D/empty/below: does not exist"},
                         {{command, "D/folder"}, "D/folder: is a directory"}});
    expect_refusals({
        {{"bench", "--shapes", "D/absent"}, "D/absent: does not exist"},
        {{"bench", "--shapes", "D/folder"}, "D/folder: is a directory"},
        {{"run", "M", "--input", "D/absent"}, "D/absent: does not exist"},
        {{"run", "M", "--input", "D/folder"}, "D/folder: is a directory"},
        {{"run", "M", "--check"},
         "--check needs " + source_path("examples/digits/models.json") + ", which does not exist"},
    });
}

/// A shell's variable that is not set: an option that protects must not vanish with it.
TEST_F(CommandTest, EmptyValuesAreRefused) {
    const std::string allowed = "'' given, allowed: a text that is not empty (see octet ";
    expect_refusals({
        {{"run", ""}, "MODEL: " + allowed + "run --help)"},
        {{"run", "M", "--input", ""}, "--input: " + allowed + "run --help)"},
        {{"run", "M", "--input", "image="}, "'' given, allowed: the name of a file"},
        {{"save", "M", ""}, "FILE: " + allowed + "save --help)"},
        {{"serve", "M", "--token-file", ""}, "--token-file: " + allowed + "serve --help)"},
        {{"serve", "M", "--tls-certificate", "", "--tls-key", ""},
         "--tls-certificate: " + allowed + "serve --help)"},
        {{"preload", ""}, "PROGRAM: " + allowed + "preload --help)"},
        {{"match-network", "M", "--outputs", "D/absent"},
         "--outputs: 'D/absent' given, allowed: a folder with input_0.npy, …, output_0.npy, …"},
    });
}

TEST_F(CommandTest, DamagedFilesAreNamed) {
    for (const char *command : {"run", "explain"})
        expect_refusals(
            {{{command, "D/empty"}, "D/empty: …"},
             {{command, "D/short.tflite"}, "D/short.tflite: …"},
             {{command, "D/short.onnx"}, "D/short.onnx: …"},
             {{command, "D/short.bin"},
              "D/short.bin: this is not an .onnx model, nor a .tflite one, nor a plan of octet save; "
              "or it is truncated or damaged"},
             {{command, goldens}, goldens + ": …"}});
    expect_refusals({
        {{"check", "D/empty"}, "D/empty: is empty"},
        {{"check", "D/short.json"}, "D/short.json: is not JSON from line …"},
        {{"check", "M"}, model + ": is not JSON from line 1, column …"},
        {{"run", "M", "--input", "D/short.bin"},
         "D/short.bin: has 3 bytes, but input 0 ('image') s8 1x8x8x1 takes 64"},
        {{"run", "M", "--input", "D/short.bin", "D/short.bin"},
         "--input: 2 files given, the inputs of " + model + " are 1"},
        {{"run", "M", "--input", "nosuch=D/short.bin"}, "--input: 'nosuch' names no input, they are 'image'"},
        {{"run", "M", "--input", "image=D/right.bin", "image=D/right.bin"},
         "--input: D/right.bin and D/right.bin are both for input 0 ('image') s8 1x8x8x1"},
        {{"run", "M", "--input", "D/empty.npy"}, "D/empty.npy: is no .npy file"},
        {{"run", "M", "--input", "D/empty.npz"}, "D/empty.npz: …"},
        {{"run", "M", "--input", "image=D/empty.png"}, "D/empty.png: is no PNG file: …"},
        {{"run", "M", "--input", "image=D/empty.jpeg"}, "D/empty.jpeg: is no JPEG file: …"},
    });
}

TEST_F(CommandTest, WhatToCompareWithIsReadBeforeTheRun) {
    const auto against = [](const char *path) {
        return std::vector<std::string>{"run", "M", "--repeat", "1000000", "--against", path};
    };
    expect_refusals({
        {against("D/absent"), "D/absent: does not exist"},
        {against("D/empty.npy"), "D/empty.npy: is no .npy file"},
        {against("D/short.bin"),
         "D/short.bin: has 3 bytes, but output 27 ('probabilities') s8 1x10 gives 10"},
        {against("D/folder"), "D/folder: has neither output_0.npy nor output_0.bin"},
        {{"run", "M", "--tolerance", "1"}, "--tolerance requires --against (see octet run --help)"},
        {{"run", "M", "--against", "D/folder", "--tolerance", "-1"},
         "--tolerance: '-1' given, allowed: numbers from 0 (see octet run --help)"},
        {{"run", "M", "--format", "npy"}, "--format requires --output-dir (see octet run --help)"},
        {{"run", "M", "--output-dir", "D/new", "--format", "text"},
         "--format: 'text' given, allowed: raw, npy, npz (see octet run --help)"},
        {{"run", "M", "--mean", "0.5", "--input", "D/right.bin"},
         "--mean: no image (.png, .jpg, .jpeg) is among the files of --input"},
        {{"run", "M", "--resize"}, "--resize: no image (.png, .jpg, .jpeg) is among the files of --input"},
        {{"run", "M", "--mean", "0.5,x"}, "--mean: 'x' given, allowed: a number (see octet run --help)"},
        {{"run", "M", "--std", "0"},
         "--std: '0' given, allowed: a number that is not 0 (see octet run --help)"},
    });
}

TEST_F(CommandTest, DefectsOfShapeTablesAreNamedWithTheirLine) {
    const auto bench = [](const char *file) { return std::vector<std::string>{"bench", "--shapes", file}; };
    expect_refusals({
        {bench("D/empty"),
         "D/empty:1: the first line names the columns and starts with 'name' (octet bench --help)"},
        {bench("D/no_header.csv"), "D/no_header.csv:1: the first line names the columns …"},
        {bench("D/unknown_column.csv"), "D/unknown_column.csv:1: unknown column 'colour'"},
        {bench("D/no_column.csv"), "D/no_column.csv:1: no column 'n'"},
        {bench("D/two_columns.csv"), "D/two_columns.csv:1: two columns 'm'"},
        {bench("D/wrong_number.csv"), "D/wrong_number.csv:3: n is 'many', allowed: 1 to 1000000000"},
        {bench("D/missing_field.csv"), "D/missing_field.csv:2: 3 fields, the header has 4"},
        {bench("D/no_layers.csv"), "D/no_layers.csv:1: no layers follow the header"},
        {bench("D/uneven_groups.csv"), "D/uneven_groups.csv:2: ic and oc must be multiples of g"},
        {bench("D/huge.csv"), "layer a: its tensors take more memory than this machine has"},
        {{"bench", "--shapes", shapes + "products.csv", "--conv"},
         shapes + "products.csv: is a table of products, which --conv excludes"},
        {{"bench", "--shapes", shapes + "products.csv", "--only", "nosuch"},
         "--only or --skip-depthwise leaves no layer"},
    });
}

// ---- Results that cannot be written

TEST_F(CommandTest, StandardOutputThatTakesNothingIsAFailure) {
    const std::vector<std::vector<std::string>> requests = {
        {"--help"},         {"--version"},
        {"info"},           {"run", model},
        {"run", "--help"},  {"explain", model},
        {"check", goldens}, {"bench", "--shapes", shapes + "products.csv"}};
    for (const std::vector<std::string> &request : requests) {
        EXPECT_EQ(octet(request, {"/dev/full", false}).exit_code, 2) << command_line(request);
        EXPECT_EQ(octet(request, {"/dev/full", false}).err,
                  "octet: standard output: cannot be written: No space left on device\n");
        const outcome closed = octet(request, {"", true});
        EXPECT_EQ(closed.exit_code, 2) << command_line(request);
        EXPECT_EQ(closed.err, "octet: standard output: cannot be written: Bad file descriptor\n");
    }
}

TEST_F(CommandTest, UnwritablePathsFailBeforeTheWork) {
    // A run that would take minutes shows that nothing was run.
    const std::vector<std::string> long_run = {"run", "M", "--repeat", "1000000"};
    const std::vector<std::string> long_bench = {"bench", "--shapes", shapes + "convolutions.csv",
                                                 "--samples", "1001"};
    const auto with = [](std::vector<std::string> request, const std::string &option,
                         const std::string &path) {
        request.insert(request.end(), {option, path});
        return request;
    };
    for (const auto &[request, option] : {std::pair(long_run, "--trace"), std::pair(long_bench, "--csv")})
        expect_refusals({
            {with(request, option, "D/empty/x"), "D/empty/x: cannot be written: Not a directory"},
            {with(request, option, "D/absent/x"), "D/absent/x: cannot be written: No such file or directory"},
            {with(request, option, "D/folder"), "D/folder: is a directory"},
        });
    expect_refusals({
        {with(long_run, "--output-dir", "D/empty"), "D/empty: cannot be made a directory: Not a directory"},
        {with(long_run, "--output-dir", "D/empty/x"),
         "D/empty/x: cannot be made a directory: Not a directory"},
    });
    fs::create_directories(folder_ / "taken" / "output_0.bin");
    expect_refusals({{with(long_run, "--output-dir", "D/taken"), "D/taken/output_0.bin: is a directory"}});
    EXPECT_EQ(octet({"bench", "--shapes", shapes + "products.csv", "--csv", "/dev/full"}).exit_code, 2);
    EXPECT_EQ(octet({"run", model, "--repeat", "1", "--trace", "/dev/full"}).exit_code, 2);
}

// ---- Results

TEST_F(CommandTest, RunMakesTheDirectoryOfItsOutputs) {
    const std::string where = path("new/directories");
    const outcome got =
        octet({"run", model, "--repeat", "3", "--output-dir", where, "--trace", path("trace.json")});
    ASSERT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(fs::file_size(fs::path(where) / "output_0.bin"), 10u);
    EXPECT_GT(fs::file_size(path("trace.json")), 1000u);
    EXPECT_NE(got.out.find("wrote " + where + "/output_0.bin"), std::string::npos) << got.out;
    for (const char *number : {"3 runs: minimum ", " ms, median ", " ms, P90 ", " ms, P99 "})
        EXPECT_NE(got.out.find(number), std::string::npos) << number << '\n' << got.out;
}

TEST_F(CommandTest, OutputsDoNotDependOnTheNumberOfRuns) {
    octet({"run", model, "--repeat", "1", "--output-dir", path("one")});
    octet({"run", model, "--repeat", "7", "--output-dir", path("seven")});
    EXPECT_EQ(content_of(path("one/output_0.bin")), content_of(path("seven/output_0.bin")));
}

TEST_F(CommandTest, BenchTimesTheSampleTables) {
    const std::string csv = path("results.csv");
    const outcome got = octet({"bench", "--shapes", shapes + "convolutions.csv", shapes + "products.csv",
                               "--samples", "2", "--threads", "1", "--csv", csv});
    ASSERT_EQ(got.exit_code, 0) << got.err;
    std::istringstream lines(content_of(csv));
    std::string line;
    std::getline(lines, line);
    const auto columns = std::count(line.begin(), line.end(), ',');
    EXPECT_EQ(line.rfind("table,name,count,implementation,microseconds,microseconds_min,", 0), 0u) << line;
    std::vector<std::string> rows;
    while (std::getline(lines, line)) {
        EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
        rows.push_back(line.substr(0, line.find(',', line.find(',') + 1)));
    }
    EXPECT_EQ(rows, (std::vector<std::string>{"convolutions,first", "convolutions,depthwise",
                                              "convolutions,pointwise", "convolutions,grouped",
                                              "convolutions,dilated", "products,one_row", "products,batch"}));
    for (const std::string &row : rows)
        EXPECT_NE(got.out.find(row.substr(row.find(',') + 1)), std::string::npos) << got.out;
}

/// Lines that verbose mode prints can be timed and explained as they are.
TEST_F(CommandTest, ProblemsOfVerboseLinesAreTimedAndExplained) {
    const char *problems[] = {
        "convolution src:u8:1x16x8x8:nhwc weights:s8:32x16x3x3:any bias:s32:32:x dst:u8:1x32x8x8:nhwc "
        "padding_l:1x1 rule:f32 output_scales:0:0.5 zero_points:src:0:3 post_op:eltwise_relu:0:0:1",
        "matmul src:u8:4x32:ab weights:s8:32x16:any dst:s32:4x16:ab rule:none"};
    for (const char *problem : problems) {
        const outcome timed =
            octet({"bench", "--problem", problem, "--samples", "1", "--csv", path("p.csv")});
        EXPECT_EQ(timed.exit_code, 0) << timed.err;
        EXPECT_NE(timed.out.find("GOPS"), std::string::npos) << timed.out;
        const outcome explained = octet({"explain", "--problem", problem});
        EXPECT_EQ(explained.exit_code, 0) << explained.err;
        EXPECT_NE(explained.out.find("runs on "), std::string::npos) << explained.out;
    }
}

/// A layer that cannot be timed ends the run; the rows before it are in the file.
TEST_F(CommandTest, RowsThatWereMeasuredStayWhenALaterLayerFails) {
    write("layers.csv", "name,m,n,k\ngood,1,16,16\nbad,1000000000,1000000000,1000000000\n");
    const outcome got =
        octet({"bench", "--shapes", path("layers.csv"), "--samples", "1", "--csv", path("rows.csv")});
    EXPECT_EQ(got.exit_code, 2);
    EXPECT_NE(content_of(path("rows.csv")).find("\nlayers,good,1,"), std::string::npos);
}

TEST_F(CommandTest, ALowerInstructionSetGivesTheSameBytes) {
    octet({"run", model, "--repeat", "1", "--output-dir", path("best")});
    ASSERT_EQ(octet({"run", model, "--repeat", "1", "--isa", "ref", "--output-dir", path("ref")}).exit_code,
              0);
    EXPECT_EQ(content_of(path("best/output_0.bin")), content_of(path("ref/output_0.bin")));
}

} // namespace
} // namespace octet::tests
