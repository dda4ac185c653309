// A quantized .onnx model in ONNX Runtime, without and with Octet: onnxruntime_session PROVIDER MODEL.
// PROVIDER is the path that `octet onnxruntime --path` prints. Inputs are random, outputs have to be equal.
// SPDX-License-Identifier: Apache-2.0
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

/// Octet's device for a session; all else of a program stays as it is.
void run_on_octet(Ort::Env &env, Ort::SessionOptions &options, const std::string &provider) {
    // ONNX Runtime looks for a relative path beside its own library.
    env.RegisterExecutionProviderLibrary("octet", std::filesystem::absolute(provider).string());
    std::vector<Ort::ConstEpDevice> devices;
    for (const Ort::ConstEpDevice &device : env.GetEpDevices())
        if (device.EpName() == std::string("OctetExecutionProvider"))
            devices.push_back(device);
    options.AppendExecutionProvider_V2(env, devices, {{"threads", "1"}});
}

/// Floats for an input, whose open sizes are 1.
struct random_input {
    std::vector<std::int64_t> dims;
    std::vector<float> values;

    random_input(const Ort::Session &session, std::size_t index) {
        dims = session.GetInputTypeInfo(index).GetTensorTypeAndShapeInfo().GetShape();
        std::size_t count = 1;
        for (std::int64_t &size : dims)
            count *= static_cast<std::size_t>(size = std::max<std::int64_t>(size, 1));
        std::mt19937 random(0);
        std::uniform_real_distribution<float> any(0.f, 2.f);
        values.resize(count);
        std::generate(values.begin(), values.end(), [&] { return any(random); });
    }
};

struct result {
    std::vector<std::vector<char>> outputs;
    double milliseconds; ///< the median of several runs
};

result run(Ort::Session &session) {
    const Ort::AllocatorWithDefaultOptions allocator;
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    std::vector<Ort::AllocatedStringPtr> names; // names of the inputs, then of the outputs
    std::vector<const char *> inputs, outputs;
    std::vector<random_input> data;
    std::vector<Ort::Value> values;
    for (std::size_t i = 0; i < session.GetInputCount(); i++) {
        names.push_back(session.GetInputNameAllocated(i, allocator));
        inputs.push_back(names.back().get());
        random_input &x = data.emplace_back(session, i);
        values.push_back(Ort::Value::CreateTensor<float>(memory, x.values.data(), x.values.size(),
                                                         x.dims.data(), x.dims.size()));
    }
    for (std::size_t i = 0; i < session.GetOutputCount(); i++) {
        names.push_back(session.GetOutputNameAllocated(i, allocator));
        outputs.push_back(names.back().get());
    }
    result r;
    std::vector<double> times;
    for (int i = 0; i < 51; i++) {
        const auto start = std::chrono::steady_clock::now();
        const std::vector<Ort::Value> computed = session.Run(Ort::RunOptions(), inputs.data(), values.data(),
                                                             values.size(), outputs.data(), outputs.size());
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        times.push_back(time.count());
        r.outputs.clear();
        for (const Ort::Value &y : computed) {
            const char *const bytes = static_cast<const char *>(y.GetTensorRawData());
            r.outputs.emplace_back(bytes, bytes + y.GetTensorSizeInBytes());
        }
    }
    std::nth_element(times.begin(), times.begin() + 25, times.end());
    r.milliseconds = times[25];
    return r;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 3) {
        std::cerr << "usage: onnxruntime_session PROVIDER MODEL\n";
        return 2;
    }
    try {
        Ort::Env env;
        Ort::SessionOptions plain, on_octet;
        plain.SetIntraOpNumThreads(1);
        on_octet.SetIntraOpNumThreads(1);
        run_on_octet(env, on_octet, arguments[1]);
        Ort::Session cpu(env, arguments[2], plain), octet(env, arguments[2], on_octet);
        const result expected = run(cpu), actual = run(octet);
        const bool are_equal = actual.outputs == expected.outputs;
        std::cout << "CPU provider " << expected.milliseconds << " ms, Octet " << actual.milliseconds
                  << " ms, outputs " << (are_equal ? "equal" : "DIFFERENT") << "\n";
        return are_equal ? 0 : 1;
    } catch (const std::exception &e) {
        std::cerr << "onnxruntime_session: " << e.what() << "\n";
        return 1;
    }
}
