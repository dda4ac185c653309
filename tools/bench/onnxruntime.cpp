// Starts Node.js with a script, and exchanges lines of JSON with it; tensors go through files.
// SPDX-License-Identifier: Apache-2.0
#include "bench/onnxruntime.hpp"

#include <cstring>
#include <filesystem>
#include <sstream>

#include <unistd.h>

#include "base/beside.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "bench/child_process.hpp"
#include "bench/onnxruntime_baseline.hpp"
#include "octet/octet.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string &complaint) {
    throw error(status::runtime_error, "--baseline onnxruntime: " + complaint);
}

/// For tensors on their way.
class scratch_folder {
public:
    scratch_folder() {
        std::string name = (fs::temp_directory_path() / "octet_bench_XXXXXX").string();
        if (!mkdtemp(name.data()))
            refuse("no directory can be made in " + fs::temp_directory_path().string());
        path_ = name;
    }
    ~scratch_folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;

    std::string file(const char *kind, std::size_t i) const { return path_ / (kind + std::to_string(i)); }

private:
    fs::path path_;
};

std::string type_name(const tensor_view &t) {
    switch (t.data_type()) {
    case data_type::f32:
        return "float32";
    case data_type::u8:
        return "uint8";
    case data_type::s8:
        return "int8";
    case data_type::s32:
        return "int32";
    default:
        refuse("input " + t.text() + " has a type that is not handed over");
    }
}

/// Node.js itself cannot choose a provider: a library in front of ONNX Runtime does it, and tells of it in `report`.
std::vector<std::string> program(onnxruntime::provider who, int threads, const std::string &report) {
    std::vector<std::string> words = {"node", "-e", onnxruntime_baseline};
    if (who == onnxruntime::provider::octet) {
        const std::string library = library_beside("liboctet_onnxruntime_preload.so", "interop/onnxruntime",
                                                   "its Debian package is liboctet-onnxruntime");
        words.insert(words.begin(), {"env", "LD_PRELOAD=" + library, "OCTET_ONNXRUNTIME_REPORT=" + report,
                                     "OCTET_ONNXRUNTIME_OPTIONS=threads=" + std::to_string(threads)});
    }
    return words;
}

json answer_of(child_process &node, const json &request) {
    json answer =
        json::parse(node.ask(request.dump(-1, ' ', false, json::error_handler_t::replace)), nullptr, false);
    if (answer.is_discarded())
        refuse("an answer that is no JSON");
    if (answer.is_object() && answer.contains("error"))
        refuse(answer["error"].get<std::string>());
    return answer;
}

} // namespace

onnxruntime::onnxruntime(const std::string &model, const network &like, int threads,
                         const std::string &node_modules, provider who) {
    const scratch_folder folder;
    const std::string report = folder.file("report", 0);
    storage::replace_file(report, "", 0);
    json request = {{"model", fs::absolute(model).string()},
                    {"threads", threads},
                    {"node_modules", node_modules.empty() ? "" : fs::absolute(node_modules).string()},
                    {"inputs", json::array()},
                    {"outputs", json::array()}};
    for (std::size_t i = 0; i < like.input_count(); i++) {
        const tensor_view t = like.input(i);
        storage::replace_file(folder.file("input", i), t.data(), t.size_in_bytes());
        request["inputs"].push_back({{"name", t.name()},
                                     {"type", type_name(t)},
                                     {"dims", t.dims()},
                                     {"file", folder.file("input", i)}});
    }
    for (std::size_t i = 0; i < like.output_count(); i++)
        request["outputs"].push_back({{"name", like.output(i).name()}, {"file", folder.file("output", i)}});
    node_ = std::make_unique<child_process>(program(who, threads, report));
    version_ = answer_of(*node_, request).value("version", "");
    if (who == provider::octet) {
        if (read_file(report).empty())
            refuse("its session did not get Octet's provider");
        version_ += " on Octet";
    }
    for (std::size_t i = 0; i < like.output_count(); i++) {
        const std::vector<std::uint8_t> bytes = read_file(folder.file("output", i));
        outputs_.emplace_back(bytes.begin(), bytes.end());
    }
}

onnxruntime::~onnxruntime() = default;
onnxruntime::onnxruntime(onnxruntime &&) noexcept = default;

bool onnxruntime::equals(const network &net) const {
    for (std::size_t i = 0; i < outputs_.size(); i++) {
        const tensor_view t = net.output(i);
        if (t.size_in_bytes() != outputs_[i].size() ||
            std::memcmp(t.data(), outputs_[i].data(), outputs_[i].size()) != 0)
            return false;
    }
    return true;
}

std::vector<double> onnxruntime::time(int runs) {
    std::vector<double> seconds;
    for (const json &milliseconds : answer_of(*node_, runs))
        seconds.push_back(milliseconds.get<double>() * 1e-3);
    return seconds;
}

} // namespace octet::tools
