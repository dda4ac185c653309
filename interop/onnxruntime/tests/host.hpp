#pragma once // SPDX-License-Identifier: Apache-2.0

// A program of ONNX Runtime's, as others write them: it loads the runtime, registers Octet's provider, makes
// sessions and runs them. The runtime is the file that OCTET_ONNXRUNTIME names; its functions are known by
// their slots.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime/runtime.hpp"

namespace octet::tests {

using options = std::map<std::string, std::string>;

/// A tensor of ONNX Runtime's, by its numbers for types.
struct ort_tensor {
    int type = onnxruntime::element::none;
    std::vector<std::int64_t> dims = {};
    std::vector<std::uint8_t> bytes = {};
};

/// Floats between -limit and limit.
ort_tensor random_reals(std::vector<std::int64_t> dims, unsigned seed, float limit);

/// The CPU provider is an oracle with AVX512-VNNI: without it sums of codes saturate, and those of floats
/// have other orders.
inline bool cpu_provider_is_oracle() { return __builtin_cpu_supports("avx512vnni") != 0; }

/// The provider that computes.
enum class by { cpu, octet };

/// How a session is made.
struct session_options {
    by who = by::cpu;
    options provider = {}; ///< options of Octet's provider
    options entries = {};  ///< entries of the session
    int level = 99;        ///< level of ONNX Runtime's transformers
    int threads = 1;
    bool is_log_kept = false; ///< `host::take_log`
};

struct assignment {
    std::string provider;
    std::vector<std::string> operators;
};

/// The runtime with its environment, made once; throws octet::error with ONNX Runtime's words.
class host {
public:
    /// Null where there is no runtime: the test is skipped.
    static host *get();
    static std::string provider_path();

    const onnxruntime::runtime &ort() const { return ort_; }
    void *env() const { return env_; }
    /// Registers Octet's provider and finds its device; it is there after `get`.
    void add_provider();
    void remove_provider();
    const void *device() const { return device_; }

    /// Lines that ONNX Runtime's logger got since.
    std::vector<std::string> take_log();

private:
    explicit host(const onnxruntime::ort_api_base &base);
    onnxruntime::runtime ort_;
    void *env_ = nullptr;
    const void *device_ = nullptr;
};

class session {
public:
    session(const std::vector<std::uint8_t> &model, const session_options &how);
    session(const std::filesystem::path &model, const session_options &how);
    ~session();
    session(const session &) = delete;
    session &operator=(const session &) = delete;

    const std::vector<std::string> &inputs() const { return inputs_; }
    const std::vector<std::string> &outputs() const { return outputs_; }
    /// Type and dimensions of an input, -1 where it is open.
    ort_tensor input_info(std::size_t i) const;

    /// All outputs for all inputs, in order. Any thread may call it.
    std::vector<ort_tensor> run(const std::vector<ort_tensor> &inputs) const;

    /// The same with memory of the program's, which has the sizes of the outputs: I/O binding.
    void run_bound(const std::vector<ort_tensor> &inputs, std::vector<ort_tensor> &outputs) const;

    /// The same where the last inputs and the last outputs are the same buffers, which the run changes.
    void run_in_place(const std::vector<ort_tensor> &inputs, std::vector<ort_tensor> &both,
                      std::vector<ort_tensor> &outputs) const;

    /// Returns which provider computes which operators.
    std::vector<assignment> assignments() const;
    /// The operators that Octet computes, and that the CPU provider does.
    std::vector<std::string> operators_of(by who) const;

private:
    template <typename Create> void make(const session_options &how, const Create &create);
    void run_with(const std::vector<const ort_tensor *> &inputs,
                  const std::vector<ort_tensor *> &outputs) const;
    void *session_ = nullptr;
    std::vector<std::string> inputs_, outputs_;
};

/// Bit by bit, but that a NaN is a NaN; empty, or the first difference.
std::string difference(const std::vector<ort_tensor> &actual, const std::vector<ort_tensor> &expected);

} // namespace octet::tests
