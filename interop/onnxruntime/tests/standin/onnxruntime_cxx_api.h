#pragma once // SPDX-License-Identifier: Apache-2.0

// The part of ONNX Runtime's C++ header that examples/onnxruntime_session.cpp uses, under the same names, for
// machines that have the library without its header, as npm's package does: so the example is compiled and
// run there, too. Not for programs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interop/onnxruntime/tests/program_slots.hpp"

extern "C" const octet::onnxruntime::ort_api_base *OrtGetApiBase();

enum OrtAllocatorType { OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeDefault = 0 };
struct OrtAllocator;
struct OrtMemoryInfo;

namespace Ort {
namespace standin {

namespace api = octet::onnxruntime::api;
using namespace octet::onnxruntime;
using namespace octet::onnxruntime::program;

template <std::size_t I, typename F, typename... Arguments>
std::conditional_t<slot<I, F>::can_fail, void, typename slot<I, F>::result> call(slot<I, F>,
                                                                                 Arguments... arguments) {
    static const void *const *const table = OrtGetApiBase()->get_api(api::version);
    const auto at = [](std::size_t i) { return const_cast<void *>(table[i]); };
    const auto function = reinterpret_cast<typename slot<I, F>::function>(at(I));
    if constexpr (slot<I, F>::can_fail) {
        if (ort_status *const failed = function(arguments...)) {
            const std::string text = call(api::get_error_message, static_cast<const ort_status *>(failed));
            call(api::release_status, failed);
            throw std::runtime_error(text);
        }
    } else {
        return function(arguments...);
    }
}

/// An object that a slot releases.
template <auto &Release, typename T = void> struct owned {
    T *object = nullptr;

    owned() = default;
    owned(owned &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
    owned &operator=(owned &&) = delete;
    ~owned() {
        if (object)
            call(Release, object);
    }
    const T *get() const { return object; }
};

} // namespace standin

class ConstEpDevice {
public:
    explicit ConstEpDevice(const void *device) : device_(device) {}
    const char *EpName() const { return standin::call(standin::device_provider, device_); }
    const void *get() const { return device_; }

private:
    const void *device_;
};

struct Env : standin::owned<standin::release_env> {
    Env() { standin::call(standin::create_env, 2, "", &object); }
    Env &RegisterExecutionProviderLibrary(const char *name, const std::string &path) {
        standin::call(standin::register_library, object, name, path.c_str());
        return *this;
    }
    std::vector<ConstEpDevice> GetEpDevices() const {
        const void *const *devices = nullptr;
        std::size_t count = 0;
        standin::call(standin::get_ep_devices, get(), &devices, &count);
        return {devices, devices + count};
    }
};

struct SessionOptions : standin::owned<standin::release_options> {
    SessionOptions() { standin::call(standin::create_options, &object); }
    SessionOptions &SetIntraOpNumThreads(int count) {
        standin::call(standin::set_threads, object, count);
        return *this;
    }
    SessionOptions &AppendExecutionProvider_V2(Env &env, const std::vector<ConstEpDevice> &devices,
                                               const std::unordered_map<std::string, std::string> &options) {
        std::vector<const void *> all;
        std::vector<const char *> keys, values;
        for (const ConstEpDevice &d : devices)
            all.push_back(d.get());
        for (const auto &[key, value] : options)
            keys.push_back(key.c_str()), values.push_back(value.c_str());
        standin::call(standin::append_provider, object, env.object,
                      static_cast<const void *const *>(all.data()), all.size(),
                      static_cast<const char *const *>(keys.data()),
                      static_cast<const char *const *>(values.data()), keys.size());
        return *this;
    }
};

struct RunOptions {};

struct AllocatorWithDefaultOptions {
    void *object = nullptr;
    AllocatorWithDefaultOptions() { standin::call(standin::default_allocator, &object); }
    operator OrtAllocator *() const { return static_cast<OrtAllocator *>(object); }
};

struct MemoryInfo : standin::owned<standin::release_memory_info> {
    static MemoryInfo CreateCpu(OrtAllocatorType allocator, OrtMemType type) {
        MemoryInfo made;
        standin::call(standin::create_cpu_memory_info, static_cast<int>(allocator), static_cast<int>(type),
                      &made.object);
        return made;
    }
    operator const OrtMemoryInfo *() const { return static_cast<const OrtMemoryInfo *>(object); }
};

struct Value : standin::owned<standin::api::release_value, standin::ort_value> {
    template <typename T>
    static Value CreateTensor(const OrtMemoryInfo *memory, T *data, std::size_t count,
                              const std::int64_t *dims, std::size_t rank) {
        static_assert(std::is_same_v<T, float>);
        Value made;
        standin::call(standin::create_tensor_with_data, static_cast<const void *>(memory),
                      static_cast<void *>(data), count * sizeof(T), dims, rank, standin::element::f32,
                      &made.object);
        return made;
    }
    const void *GetTensorRawData() const {
        void *data = nullptr;
        standin::call(standin::api::get_tensor_data, object, &data);
        return data;
    }
    std::size_t GetTensorSizeInBytes() const {
        std::size_t size = 0;
        standin::call(standin::api::tensor_bytes, get(), &size);
        return size;
    }
};

struct TensorTypeAndShapeInfo {
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> GetShape() const { return dims; }
};

struct TypeInfo : standin::owned<standin::release_type, standin::ort_type_info> {
    TensorTypeAndShapeInfo GetTensorTypeAndShapeInfo() const {
        const standin::ort_shape_info *shape = nullptr;
        standin::call(standin::api::cast_to_tensor_info, get(), &shape);
        std::size_t rank = 0;
        standin::call(standin::api::get_dimensions_count, shape, &rank);
        TensorTypeAndShapeInfo info{std::vector<std::int64_t>(rank)};
        standin::call(standin::api::get_dimensions, shape, info.dims.data(), rank);
        return info;
    }
};

struct free_text {
    void operator()(char *text) const {
        standin::call(standin::allocator_free, AllocatorWithDefaultOptions().object,
                      static_cast<void *>(text));
    }
};
using AllocatedStringPtr = std::unique_ptr<char, free_text>;

struct Session : standin::owned<standin::release_session> {
    Session(const Env &env, const char *path, const SessionOptions &options) {
        standin::call(standin::create_session_of_file, env.get(), path, options.get(), &object);
    }
    std::size_t GetInputCount() const { return count(standin::input_count); }
    std::size_t GetOutputCount() const { return count(standin::output_count); }
    AllocatedStringPtr GetInputNameAllocated(std::size_t i, OrtAllocator *allocator) const {
        return name(standin::input_name, i, allocator);
    }
    AllocatedStringPtr GetOutputNameAllocated(std::size_t i, OrtAllocator *allocator) const {
        return name(standin::output_name, i, allocator);
    }
    TypeInfo GetInputTypeInfo(std::size_t i) const {
        TypeInfo info;
        standin::call(standin::input_type, get(), i, &info.object);
        return info;
    }
    std::vector<Value> Run(const RunOptions &, const char *const *inputs, const Value *values,
                           std::size_t value_count, const char *const *outputs, std::size_t output_count) {
        std::vector<const standin::ort_value *> given;
        for (std::size_t i = 0; i < value_count; i++)
            given.push_back(values[i].get());
        std::vector<standin::ort_value *> found(output_count);
        standin::call(standin::run_session, object, static_cast<const void *>(nullptr), inputs,
                      static_cast<const standin::ort_value *const *>(given.data()), value_count, outputs,
                      output_count, found.data());
        std::vector<Value> results(output_count);
        for (std::size_t i = 0; i < output_count; i++)
            results[i].object = found[i];
        return results;
    }

private:
    template <typename Slot> std::size_t count(Slot which) const {
        std::size_t found = 0;
        standin::call(which, get(), &found);
        return found;
    }
    template <typename Slot>
    AllocatedStringPtr name(Slot which, std::size_t i, OrtAllocator *allocator) const {
        char *text = nullptr;
        standin::call(which, get(), i, static_cast<void *>(allocator), &text);
        return AllocatedStringPtr(text);
    }
};

} // namespace Ort
