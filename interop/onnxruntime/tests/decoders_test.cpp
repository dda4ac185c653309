// Decoders in sessions with the provider: the bytes of ONNX Runtime's CPU provider on a CPU with AVX512-VNNI, as they
// were recorded, and the same where past and present are one buffer of the program's.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "interop/onnxruntime/tests/host.hpp"
#include "network/onnx/tests/onnx_builder.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using onnxruntime::element::f32;
using onnxruntime::element::s32;
using onnxruntime::element::s64;

/// A decoder with inputs and outputs.
struct recorded_decoder {
    std::filesystem::path model;
    std::vector<std::pair<std::string, ort_tensor>> inputs, outputs;
};

std::vector<recorded_decoder> recorded_decoders() {
    const std::filesystem::path folder = std::filesystem::path(shared_path()) / "vectors/nbits_graphs";
    std::vector<recorded_decoder> all;
    std::ifstream text(folder / "graphs.json"), blob(folder / "graphs.bin", std::ios::binary);
    if (!text)
        return all;
    const std::string bytes{std::istreambuf_iterator<char>(blob), {}};
    const auto root = nlohmann::ordered_json::parse(text);
    for (const auto &entry : root["graphs"]) {
        recorded_decoder d{folder / entry["file"].get<std::string>(), {}, {}};
        for (auto *const list : {&d.inputs, &d.outputs})
            for (const auto &[name, t] : entry[list == &d.inputs ? "inputs" : "outputs"].items()) {
                ort_tensor tensor{t["dtype"] == "s64" ? s64 : f32, t["dims"], {}};
                const auto first = bytes.begin() + t["offset"].get<std::ptrdiff_t>();
                tensor.bytes.assign(first, first + t["nbytes"].get<std::ptrdiff_t>());
                list->emplace_back(name, std::move(tensor));
            }
        all.push_back(std::move(d));
    }
    return all;
}

std::vector<ort_tensor> in_order(const std::vector<std::string> &names,
                                 const std::vector<std::pair<std::string, ort_tensor>> &tensors) {
    std::vector<ort_tensor> ordered;
    for (const std::string &name : names)
        for (const auto &[of, tensor] : tensors)
            if (of == name)
                ordered.push_back(tensor);
    return ordered;
}

session_options all_on_octet() {
    session_options o;
    o.who = by::octet;
    o.provider = {{"claim", "all"}, {"minimum", "1"}};
    return o;
}

TEST(OnnxRuntimeDecoders, HaveTheRecordedBytes) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    const std::vector<recorded_decoder> all = recorded_decoders();
    if (all.empty())
        GTEST_SKIP() << "no folder of graphs";
    for (const recorded_decoder &d : all) {
        SCOPED_TRACE(d.model.filename().string());
        const session s(d.model, all_on_octet());
        const std::vector<ort_tensor> outputs = in_order(s.outputs(), d.outputs);
        EXPECT_EQ(difference(s.run(in_order(s.inputs(), d.inputs)), outputs), "");
        const std::vector<std::string> own = s.operators_of(by::octet);
        for (const char *const op : {"GroupQueryAttention", "MatMulNBits"})
            EXPECT_EQ(std::count(own.begin(), own.end(), op) > 0, true) << op << " is the CPU provider's";
    }
}

// ---- One buffer

constexpr std::int64_t heads = 4, groups = 2, width = 16, capacity = 24,
                       hidden = (heads + 2 * groups) * width;

/// GroupQueryAttention with open sizes behind a product, as decoders have it. Its total_sequence_length is the
/// length of the mask, or an input of these dimensions.
std::vector<std::uint8_t> attention_model(const std::optional<onnx_builder::dims> &total) {
    using b = onnx_builder;
    b m(18);
    const auto open = [&m](const std::string &name, const std::vector<std::string> &sizes, auto element) {
        b::dims shape;
        for (const std::string &size : sizes)
            shape.push_back(size[0] >= '0' && size[0] <= '9' ? std::stoll(size) : -1);
        m.input<decltype(element)>(name, shape);
        auto &dims = *m.graph()
                          .mutable_input(m.graph().input_size() - 1)
                          ->mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape();
        for (std::size_t d = 0; d < sizes.size(); d++)
            if (shape[d] == -1)
                dims.mutable_dim(static_cast<int>(d))->set_dim_param(sizes[d]);
    };
    open("x", {"1", "rows", std::to_string(hidden)}, 0.f);
    open("attention_mask", {"1", "all"}, std::int64_t{});
    if (total)
        m.input<std::int32_t>("total", *total);
    for (const char *const name : {"past_key", "past_value"})
        open(name, {"1", std::to_string(groups), "past", std::to_string(width)}, 0.f);
    for (const char *const name : {"cosines", "sines"}) {
        const ort_tensor angles = random_reals({capacity, width / 2}, name[0], 1.f);
        std::vector<float> values(static_cast<std::size_t>(capacity * width / 2));
        std::memcpy(values.data(), angles.bytes.data(), angles.bytes.size());
        m.constant<float>(name, {capacity, width / 2}, values);
    }
    m.constant<std::int64_t>("one", {1}, {1});
    m.scalar<std::int64_t>("first", 1);
    b::set(m.node("ReduceSum", {"attention_mask", "one"}, {"count"}), "keepdims", std::int64_t{0});
    m.node("Sub", {"count", "one"}, {"last"});
    b::set(m.node("Cast", {"last"}, {"lengths"}), "to", std::int64_t{onnx::TensorProto::INT32});
    m.node("Shape", {"attention_mask"}, {"sizes"});
    m.node("Gather", {"sizes", "first"}, {"size"});
    if (!total)
        b::set(m.node("Cast", {"size"}, {"total"}), "to", std::int64_t{onnx::TensorProto::INT32});
    onnx::NodeProto &n =
        m.node("GroupQueryAttention",
               {"x", "", "", "past_key", "past_value", "lengths", "total", "cosines", "sines"},
               {"y", "present_key", "present_value"}, b::microsoft);
    b::set(n, "num_heads", heads);
    b::set(n, "kv_num_heads", groups);
    b::set(n, "do_rotary", std::int64_t{1});
    m.output<float>("y", {1, -1, heads * width});
    for (const char *const name : {"present_key", "present_value"})
        m.output<float>(name, {1, groups, -1, width});
    return m.finish();
}

/// An attention_mask of so many ones.
ort_tensor ones(std::int64_t count) {
    const std::vector<std::int64_t> values(static_cast<std::size_t>(count), 1);
    const auto *const bytes = reinterpret_cast<const std::uint8_t *>(values.data());
    return {s64, {1, count}, {bytes, bytes + 8 * values.size()}};
}

/// Keys or values of each group, with room for `room` rows, of which the first are those of `rows`.
ort_tensor with_room(const ort_tensor &rows, std::int64_t room) {
    ort_tensor wide{f32, {1, groups, room, width}, {}};
    const auto row = static_cast<std::size_t>(width) * sizeof(float);
    const std::size_t filled = static_cast<std::size_t>(rows.dims[2]) * row,
                      all = static_cast<std::size_t>(room) * row;
    wide.bytes.resize(static_cast<std::size_t>(groups) * all);
    for (std::size_t g = 0; g < static_cast<std::size_t>(groups) && filled > 0; g++)
        std::memcpy(wide.bytes.data() + g * all, rows.bytes.data() + g * filled, filled);
    return wide;
}

/// Steps in one buffer, and the same with keys and values apart.
void compare_in_place(const std::optional<onnx_builder::dims> &total) {
    SCOPED_TRACE(total ? total->size() : 2);
    const session s(attention_model(total), all_on_octet());
    const std::vector<std::string> own = s.operators_of(by::octet);
    ASSERT_EQ(std::count(own.begin(), own.end(), "GroupQueryAttention"), 1);
    ort_tensor keys{f32, {1, groups, 0, width}, {}}, values = keys;
    std::vector<ort_tensor> caches = {with_room(keys, capacity), with_room(values, capacity)};
    std::int64_t done = 0;
    for (const std::int64_t rows : {5, 1, 1, 3, 1}) {
        done += rows;
        std::vector<ort_tensor> x = {random_reals({1, rows, hidden}, static_cast<unsigned>(done), 1.f),
                                     ones(done)};
        if (total)
            x.push_back({s32, *total, {static_cast<std::uint8_t>(done), 0, 0, 0}});
        std::vector<ort_tensor> all = x;
        all.insert(all.end(), {keys, values});
        const std::vector<ort_tensor> apart = s.run(all);
        keys = apart[1];
        values = apart[2];
        std::vector<ort_tensor> y = {{f32, {1, rows, heads * width}, {}}};
        y[0].bytes.resize(static_cast<std::size_t>(rows * heads * width) * sizeof(float));
        s.run_in_place(x, caches, y);
        EXPECT_EQ(difference(y, {apart[0]}), "") << done;
        EXPECT_EQ(difference(caches, {with_room(keys, capacity), with_room(values, capacity)}), "") << done;
    }
}

TEST(OnnxRuntimeDecoders, AppendToOneBuffer) {
    if (!host::get())
        GTEST_SKIP() << "no ONNX Runtime (scripts/packages.sh)";
    compare_in_place({});
    compare_in_place(onnx_builder::dims{1});
    compare_in_place(onnx_builder::dims{}); // a number
}

} // namespace
} // namespace octet::tests
