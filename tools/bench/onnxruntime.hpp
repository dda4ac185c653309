#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime in a process of its own, through its package for Node.js: no build of Octet depends on it.

#include <memory>
#include <string>
#include <vector>

#include "octet/network.hpp"

namespace octet::tools {

class child_process;

class onnxruntime {
public:
    /// The provider of a session: ONNX Runtime's own for CPUs, or Octet's, with the CPU's for the rest.
    enum class provider { cpu, octet };

    /// Runs the file once on what the network's inputs hold. `node_modules`: where the package is, beside NODE_PATH and
    /// the working directory. Throws octet::error that says what is missing.
    onnxruntime(const std::string &model, const network &like, int threads, const std::string &node_modules,
                provider who = provider::cpu);
    ~onnxruntime();
    onnxruntime(onnxruntime &&) noexcept;

    const std::string &version() const { return version_; }
    /// Whether the first run's outputs are those that the network has now, byte for byte.
    bool equals(const network &net) const;
    /// Whether the first run's outputs are those of the other one's.
    bool equals(const onnxruntime &other) const { return outputs_ == other.outputs_; }
    /// Bytes of the first run's outputs.
    const std::vector<std::string> &outputs() const { return outputs_; }
    /// Seconds of each of so many runs.
    std::vector<double> time(int runs);

private:
    std::unique_ptr<child_process> node_;
    std::string version_;
    std::vector<std::string> outputs_;
};

} // namespace octet::tools
