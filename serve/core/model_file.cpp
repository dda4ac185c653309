// Models are read into memory, except those that are mapped; a digest is computed piece by piece.
// SPDX-License-Identifier: Apache-2.0
#include "core/model_file.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <openssl/evp.h>

#include "core/small_json.hpp"
#include "octet/error.hpp"

namespace octet::serve {
namespace {

namespace fs = std::filesystem;

/// Files beside an .onnx file that may hold its data.
std::vector<fs::path> data_files(const fs::path &model) {
    std::vector<fs::path> found;
    if (model.extension() == ".onnx")
        for (const auto &entry :
             fs::directory_iterator(model.parent_path().empty() ? "." : model.parent_path()))
            if (entry.is_regular_file() && entry.path().extension() == ".data")
                found.push_back(entry.path());
    return found;
}

void check_digest(const fs::path &file, const std::string &key, const file_digests &allowed) {
    const auto expected = allowed.find(key);
    if (expected == allowed.end())
        throw error(status::invalid_arguments,
                    file.string() + ": \"sha256\" of config.json names no digest of it");
    if (const std::string digest = digest_of(file); digest != expected->second)
        throw error(status::invalid_arguments, file.string() + ": its SHA-256 is " + digest +
                                                   ", \"sha256\" of config.json allows " + expected->second);
}

} // namespace

std::string digest_of(const std::string &path) {
    if (!fs::is_regular_file(path))
        throw error(status::invalid_arguments, path + ": is no regular file");
    std::ifstream file(path, std::ios::binary);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    bool is_good = file && context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
    for (std::vector<char> piece(1 << 20); is_good && file;) {
        file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        is_good = EVP_DigestUpdate(context.get(), piece.data(), static_cast<std::size_t>(file.gcount())) == 1;
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!is_good || EVP_DigestFinal_ex(context.get(), digest, &size) != 1)
        throw error(status::runtime_error, path + ": its SHA-256 cannot be computed");
    std::string text;
    for (unsigned i = 0; i < size; i++)
        for (const unsigned half : {digest[i] / 16u, digest[i] % 16u})
            text += "0123456789abcdef"[half];
    return text;
}

/// Models are read into memory, because a file that is read from a path is mapped, and one that is
/// overwritten in place would change under the network. Saved plans are mapped, because processes share their
/// weights so, and so is an .onnx file with company, where its data may lie.
model::graph read_model(const model_source &source, const file_digests &allowed) {
    if (source.path.empty())
        return model::read_network(reinterpret_cast<const std::uint8_t *>(source.bytes.data()),
                                   source.bytes.size(), source.name);
    const fs::path path = source.path;
    const std::vector<fs::path> data = data_files(path);
    if (!allowed.empty()) {
        check_digest(path, "", allowed);
        for (const fs::path &file : data)
            check_digest(file, file.filename().string(), allowed);
    }
    if (!data.empty() || path.extension() == ".octet")
        return model::read_network(source.path);
    const std::string bytes = read_regular_file(source.path, std::size_t(1) << 40);
    const auto *begin = reinterpret_cast<const std::uint8_t *>(bytes.data());
    if (path.extension() == ".tflite")
        return model::read_tflite(begin, bytes.size(), source.path);
    if (path.extension() == ".onnx")
        return model::read_onnx(begin, bytes.size(), source.path);
    return model::read_network(begin, bytes.size(), source.path);
}

} // namespace octet::serve
