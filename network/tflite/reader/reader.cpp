// Reads a .tflite file in three steps that each make the next one safe: the FlatBuffers verifier (every
// offset and length lies inside the bytes), the indices and fields that only this format knows (here), and
// what must hold in any graph (`check_graph`). Start at `reader::read`.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "network/graph/file.hpp"
#include "network/shapes/known_shapes.hpp"
#include "network/tflite/reader/attributes.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

namespace format = octet::tflite;

/// A Model nests five tables deep and a node or tensor takes at most three, so these limits leave room for
/// far larger networks than a file below 2 GiB holds, and bound the verifier's work on hostile ones.
constexpr flatbuffers::uoffset_t max_depth = 16;
constexpr flatbuffers::uoffset_t max_tables = 1'000'000;

/// Tables of a FlatBuffer may be shared, so a small file can describe a huge graph. Honest files share at
/// most a few constants; what a file describes is bounded by this multiple of its size, plus a constant
/// for tiny files.
constexpr std::size_t max_expansion = 64, expansion_of_tiny_files = std::size_t{1} << 20;

std::string printable(const flatbuffers::String *text) { return model::printable(text ? text->str() : ""); }

template <typename Vector> std::size_t length(const Vector *v) { return v ? v->size() : 0; }

template <typename Value> tensor_numbers tensors_of(const flatbuffers::Vector<Value> *v) {
    return v ? tensor_numbers(v->begin(), v->end()) : tensor_numbers();
}

data_type octet_type(format::TensorType type) {
    switch (type) {
    case format::TensorType_FLOAT32:
        return data_type::f32;
    case format::TensorType_INT32:
        return data_type::s32;
    case format::TensorType_INT16:
        return data_type::s16;
    case format::TensorType_INT8:
        return data_type::s8;
    case format::TensorType_UINT8:
        return data_type::u8;
    case format::TensorType_INT4:
        return data_type::s4;
    default:
        return data_type::undef;
    }
}

std::string type_name(format::TensorType type) {
    const std::string name = format::EnumNameTensorType(type);
    return name.empty() ? "TYPE(" + std::to_string(static_cast<int>(type)) + ")" : name;
}

std::string operator_name(const format::OperatorCode &code) {
    const int number = std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
    const auto builtin = static_cast<format::BuiltinOperator>(number);
    if (builtin == format::BuiltinOperator_CUSTOM)
        return "CUSTOM(" + printable(code.custom_code()) + ")";
    const std::string name = format::EnumNameBuiltinOperator(builtin);
    return name.empty() ? "BUILTIN(" + std::to_string(number) + ")" : name;
}

/// The verifier checks the alignment of a vector's length, not of wider elements behind it.
std::int64_t unaligned(const flatbuffers::Vector<std::int64_t> &v, std::size_t i) {
    std::int64_t value;
    std::memcpy(&value, v.Data() + i * sizeof value, sizeof value);
    return value;
}

class reader {
public:
    explicit reader(const shared_bytes &file)
        : file_(file), bytes_(file.data()), size_(file.size()),
          budget_(max_expansion * file.size() + expansion_of_tiny_files) {}

    graph read() {
        verify();
        model_ = format::GetModel(bytes_);
        if (model_->version() != 3)
            fail("format version " + std::to_string(model_->version()) + ", allowed is 3");
        if (length(model_->subgraphs()) == 0)
            fail("the model has no subgraph");
        const format::SubGraph &source =
            *model_->subgraphs()->Get(0); // the others are bodies of control flow

        graph result;
        result.framework = "tflite";
        result.inputs = tensors_of(source.inputs());
        result.outputs = tensors_of(source.outputs());
        for (std::size_t i = 0; i < length(source.tensors()); i++)
            result.tensors.push_back(
                read_tensor(*source.tensors()->Get(at(i)), "tensor " + std::to_string(i)));
        for (std::size_t i = 0; i < length(source.operators()); i++)
            result.nodes.push_back(read_node(*source.operators()->Get(at(i)), "node " + std::to_string(i)));
        check_graph(result);
        follow_shapes(result);
        return result;
    }

private:
    [[noreturn]] static void fail(const std::string &defect) {
        throw error(status::invalid_arguments, defect);
    }
    static flatbuffers::uoffset_t at(std::size_t i) { return static_cast<flatbuffers::uoffset_t>(i); }

    void verify() const {
        if (size_ < 8)
            fail("the file has " + std::to_string(size_) + " bytes, too few for a .tflite model");
        if (size_ >= FLATBUFFERS_MAX_BUFFER_SIZE)
            fail("the file is larger than the format's 2^31 - 1 bytes");
        if (!format::ModelBufferHasIdentifier(bytes_))
            fail("this is not a .tflite model: bytes 4 to 7 are not \"TFL3\"");
        flatbuffers::Verifier verifier(bytes_, size_, max_depth, max_tables);
        if (!format::VerifyModelBuffer(verifier))
            fail("the file is truncated or damaged: its FlatBuffers structure leaves the " +
                 std::to_string(size_) + " bytes of the file");
    }

    void charge_budget(std::size_t bytes) {
        if (bytes > budget_)
            fail("the file describes more than " + std::to_string(max_expansion) +
                 " times its size in tensors and nodes");
        budget_ -= bytes;
    }

    tensor read_tensor(const format::Tensor &source, const std::string &who) {
        tensor t;
        t.name = printable(source.name());
        t.type = octet_type(source.type());
        if (t.type == data_type::undef)
            t.foreign_type = type_name(source.type());
        if (length(source.shape()) > max_ndims)
            fail(who + " has " + std::to_string(length(source.shape())) + " dimensions; allowed are up to " +
                 std::to_string(max_ndims));
        if (source.shape())
            t.dims.assign(source.shape()->begin(), source.shape()->end());
        if (source.sparsity())
            fail(who + " ('" + t.name + "') is sparse, which is not supported");
        if (source.quantization())
            t.quant = read_quantization(*source.quantization(), who);
        t.is_variable = source.is_variable();
        t.data = read_constant(source.buffer(), who);
        t.is_constant = !t.data.empty();
        charge_budget(sizeof(tensor) + t.data.size() +
                      (sizeof(float) + sizeof(std::int32_t)) * t.quant.scales.size());
        return t;
    }

    quantization read_quantization(const format::QuantizationParameters &source, const std::string &who) {
        quantization q;
        const std::size_t scales = length(source.scale()), zero_points = length(source.zero_point());
        if (scales == 0)
            return q; // only the observed range, or nothing
        if (source.details_type() != format::QuantizationDetails_NONE)
            fail(who + " has custom quantization, which is not supported");
        if (zero_points > 1 && zero_points != scales)
            fail(who + " has " + std::to_string(scales) + " scales, but " + std::to_string(zero_points) +
                 " zero points");
        q.axis = source.quantized_dimension();
        q.scales.assign(source.scale()->begin(), source.scale()->end());
        for (std::size_t i = 0; i < scales; i++) { // absent: 0; one: for all channels
            const std::int64_t code =
                zero_points == 0 ? 0 : unaligned(*source.zero_point(), zero_points == 1 ? 0 : i);
            if (code != static_cast<std::int32_t>(code))
                fail(who + " has a zero point of " + std::to_string(code) + ", which does not fit 32 bits");
            q.zero_points.push_back(static_cast<std::int32_t>(code));
        }
        return q;
    }

    /// The bytes of a buffer; none for a tensor that is computed.
    shared_bytes read_constant(std::uint32_t index, const std::string &who) const {
        if (index >= length(model_->buffers())) {
            if (index == 0)
                return {}; // buffer 0 is "none" by convention
            fail(who + " names buffer " + std::to_string(index) + ", but there are " +
                 std::to_string(length(model_->buffers())) + " buffers");
        }
        const format::Buffer &buffer = *model_->buffers()->Get(index);
        if (buffer.offset() > 1)
            return read_outside(buffer, who);
        if (!buffer.data())
            return {};
        return file_.part(static_cast<std::size_t>(buffer.data()->Data() - bytes_), buffer.data()->size());
    }

    /// Data behind the FlatBuffer in the same file.
    shared_bytes read_outside(const format::Buffer &buffer, const std::string &who) const {
        if (buffer.offset() > size_ || buffer.size() > size_ - buffer.offset())
            fail(who + " has its data at byte " + std::to_string(buffer.offset()) + " with " +
                 std::to_string(buffer.size()) + " bytes, outside the file of " + std::to_string(size_));
        return file_.part(buffer.offset(), buffer.size());
    }

    node read_node(const format::Operator &source, const std::string &who) {
        const std::size_t codes = length(model_->operator_codes());
        if (source.opcode_index() >= codes)
            fail(who + " names operator code " + std::to_string(source.opcode_index()) + ", but there are " +
                 std::to_string(codes));
        node n;
        n.op = operator_name(*model_->operator_codes()->Get(source.opcode_index()));
        n.inputs = tensors_of(source.inputs());
        n.outputs = tensors_of(source.outputs());
        n.attributes = read_attributes(source);
        charge_budget(sizeof(node) + sizeof(int) * (n.inputs.size() + n.outputs.size()) +
                      64 * n.attributes.size());
        return n;
    }

    const shared_bytes &file_;
    const std::uint8_t *bytes_;
    const std::size_t size_;
    std::size_t budget_;
    const format::Model *model_ = nullptr;
};

graph read_model(const shared_bytes &file, const std::string &name) {
    try {
        return reader(file).read();
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

} // namespace

// The accessors read scalars in place, at addresses that are aligned if the first one is: pages and what operator
// new returns are.

graph read_tflite(const std::string &path) { return read_model(map_small_file(path), path); }

graph read_tflite(const std::uint8_t *bytes, std::size_t size, const std::string &name) {
    return read_model(std::vector<std::uint8_t>(bytes, bytes + size), name);
}

} // namespace model
} // namespace v0
} // namespace octet
