// octet onnxruntime: how programs of ONNX Runtime get Octet's execution provider (doc/onnxruntime.md), with
// the path where it lies here.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/beside.hpp"
#include "commands/commands.hpp"

namespace octet::tools {
namespace {

struct language {
    const char *name;
    const char *lines; ///< with PATH for the library's
};

constexpr language languages[] = {
    {"Python", R"(import onnxruntime as ort
ort.register_execution_provider_library("octet", "PATH")
devices = [d for d in ort.get_ep_devices() if d.ep_name == "OctetExecutionProvider"]
options = ort.SessionOptions()
options.add_provider_for_devices(devices, {"threads": "1"})
session = ort.InferenceSession("model.onnx", sess_options=options))"},
    {"C++", R"(Ort::Env env;
env.RegisterExecutionProviderLibrary("octet", "PATH");
std::vector<Ort::ConstEpDevice> devices;
for (const auto &d : env.GetEpDevices())
    if (std::string(d.EpName()) == "OctetExecutionProvider") devices.push_back(d);
Ort::SessionOptions options;
options.AppendExecutionProvider_V2(env, devices, {{"threads", "1"}});
Ort::Session session(env, "model.onnx", options);)"},
    {"C#", R"(var env = OrtEnv.Instance();
env.RegisterExecutionProviderLibrary("octet", "PATH");
var devices = env.GetEpDevices().Where(d => d.EpName == "OctetExecutionProvider").ToList();
var options = new SessionOptions();
options.AppendExecutionProvider(env, devices, new Dictionary<string, string> {{"threads", "1"}});
var session = new InferenceSession("model.onnx", options);)"},
    {"Java", R"(var env = OrtEnvironment.getEnvironment();
env.registerExecutionProviderLibrary("octet", "PATH");
var devices = env.getEpDevices().stream().filter(d -> d.getName().equals("OctetExecutionProvider")).toList();
var options = new OrtSession.SessionOptions();
options.addExecutionProvider(devices, Map.of("threads", "1"));
var session = env.createSession("model.onnx", options);)"},
};

std::string with_path(std::string lines, const std::string &path) {
    const std::string mark = "PATH";
    if (const std::size_t at = lines.find(mark); at != std::string::npos)
        lines.replace(at, mark.size(), path);
    return lines;
}

void print(bool path_alone) {
    const std::string path = library_beside("liboctet_onnxruntime.so", "interop/onnxruntime",
                                            "its Debian package is liboctet-onnxruntime");
    if (path_alone) {
        std::cout << path << "\n";
        return;
    }
    std::cout << "ONNX Runtime 1.23 and later run quantized parts of models on Octet, with the bytes of ONNX "
                 "Runtime 1.30.\n";
    for (const language &l : languages)
        std::cout << "\n" << l.name << ":\n\n" << with_path(l.lines, path) << "\n";
    std::cout
        << "\nOptions: threads, claim, log, cache_dir, memory_limit, minimum, nbits, profile, rows_alike "
           "(doc/onnxruntime.md).\n";
}

} // namespace

void add_onnxruntime_command(CLI::App &app) {
    const auto path_alone = std::make_shared<bool>(false);
    CLI::App *command = app.add_subcommand(
        "onnxruntime",
        "Print the path of the execution provider, and the lines by which programs of ONNX Runtime use it");
    command->add_flag("--path", *path_alone, "The path alone");
    command->callback([path_alone] { print(*path_alone); });
}

} // namespace octet::tools
