// FlatBuffers' object interface makes the structure; blobs follow it in the order of the nodes that use them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <plan_generated.h>

#include "network/graph/node_marks.hpp"
#include "network/saved/format.hpp"
#include "network/saved/plan_file.hpp"

namespace octet::model {
namespace {

namespace format = octet::saved;

class plan_writer {
public:
    explicit plan_writer(const plan_to_save &plan) : from_(plan) {}

    void write(const byte_sink &file) {
        describe();
        // The blobs' places depend on the size of the structure, which doesn't depend on them.
        const std::size_t first = rounded_up_to_alignment(sizeof(saved_plan_header) + structure().size());
        for (format::Blob &b : plan_.blobs)
            b = format::Blob(b.offset() + first, b.size(), b.checksum());
        const std::vector<std::uint8_t> fields = structure();
        saved_plan_header header;
        std::copy(std::begin(saved_plan_magic), std::end(saved_plan_magic), header.magic);
        header.format = saved_plan_format;
        header.checksum = crc32c(fields.data(), fields.size());
        header.structure_size = fields.size();
        header.file_size = first + size_;

        put(file, &header, sizeof header);
        put(file, fields.data(), fields.size());
        for (const auto &[bytes, size] : contents_)
            put(file, bytes, size);
    }

private:
    std::vector<std::uint8_t> structure() const {
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(format::Plan::Pack(builder, &plan_), format::PlanIdentifier());
        return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
    }

    static void put(const byte_sink &file, const void *bytes, std::size_t size) {
        constexpr char zeros[saved_plan_alignment] = {};
        file(bytes, size);
        file(zeros, rounded_up_to_alignment(size) - size);
    }

    void describe() {
        const graph &g = from_.g;
        plan_.version = version();
        plan_.numerics = numerics_version();
        plan_.isa = to_string(from_.isa);
        plan_.rule = static_cast<int>(from_.options.rule);
        plan_.profile = from_.options.profile;
        plan_.rows_alike = from_.options.rows_alike;
        plan_.nbits = from_.options.nbits;
        plan_.qdq_is_int8_allowed = from_.options.qdq_is_int8_allowed;
        plan_.qdq_nbits_level = from_.options.qdq_nbits_level;
        plan_.qdq_nbits_block = from_.options.qdq_nbits_block;
        plan_.framework = g.framework;
        plan_.opset = g.opset;
        plan_.inputs = g.inputs;
        plan_.outputs = g.outputs;
        std::multimap<const std::uint8_t *, int> places;
        for (std::size_t t = 0; t < g.tensors.size(); t++) {
            plan_.tensors.push_back(tensor_of(g.tensors[t], from_.is_only_packed[t]));
            if (g.tensors[t].is_constant && !g.tensors[t].data.empty())
                places.emplace(g.tensors[t].data.data(), static_cast<int>(t));
        }
        for (const node &n : g.nodes)
            plan_.nodes.push_back(node_of(n));
        for (const auto &w : from_.weights)
            add_packed(*w, places);
        plan_.source = source_of(from_.source, places);
    }

    /// Most constants are the plan's own; only what passes have replaced is stored again.
    std::unique_ptr<format::SourceT> source_of(const graph &g,
                                               const std::multimap<const std::uint8_t *, int> &places) {
        auto result = std::make_unique<format::SourceT>();
        for (const tensor &t : g.tensors) {
            const auto [first, last] = places.equal_range(t.data.data());
            const auto same = std::find_if(first, last, [&](const auto &place) {
                return from_.g.tensors[static_cast<std::size_t>(place.second)].data.size() == t.data.size();
            });
            const bool is_there = t.is_constant && same != last;
            result->tensors.push_back(tensor_of(t, is_there));
            result->tensors.back()->same_as = is_there ? same->second : -1;
        }
        for (const node &n : g.nodes)
            result->nodes.push_back(node_of(n));
        result->inputs = g.inputs;
        result->outputs = g.outputs;
        return result;
    }

    int add_blob(const void *bytes, std::size_t size) {
        plan_.blobs.emplace_back(size_, size, crc32c(static_cast<const std::uint8_t *>(bytes), size));
        contents_.emplace_back(bytes, size);
        size_ += rounded_up_to_alignment(size);
        return static_cast<int>(plan_.blobs.size() - 1);
    }

    std::unique_ptr<format::TensorT> tensor_of(const tensor &t, bool is_elsewhere) {
        auto result = std::make_unique<format::TensorT>();
        result->name = t.name;
        result->type = static_cast<int>(t.type);
        result->foreign_type = t.foreign_type;
        result->dims.assign(t.dims.begin(), t.dims.end());
        result->dim_names = t.dim_names;
        result->is_channels_last = t.is_channels_last;
        if (t.quant.is_set()) {
            result->quantization = std::make_unique<format::QuantizationT>();
            result->quantization->scales = t.quant.scales;
            result->quantization->zero_points = t.quant.zero_points;
            result->quantization->axis = t.quant.axis;
        }
        result->is_constant = t.is_constant;
        result->is_variable = t.is_variable;
        result->blob = t.is_constant && !is_elsewhere ? add_blob(t.data.data(), t.data.size()) : -1;
        return result;
    }

    static std::unique_ptr<format::AttributeT> attribute_of(const std::string &name, const attribute &a) {
        auto result = std::make_unique<format::AttributeT>();
        result->name = name;
        result->kind = static_cast<std::uint8_t>(a.index());
        if (const auto *integer = std::get_if<std::int64_t>(&a))
            result->integer = *integer;
        else if (const auto *real = std::get_if<float>(&a))
            result->real = *real;
        else if (const auto *text = std::get_if<std::string>(&a))
            result->text = *text;
        else
            result->integers = std::get<std::vector<std::int64_t>>(a);
        return result;
    }

    static std::unique_ptr<format::MarksT> stored(const node_marks &m) {
        auto result = std::make_unique<format::MarksT>();
        result->absent_inputs = m.absent_inputs;
        result->is_wide = m.is_wide;
        result->padding_word = m.padding_word.value_or("");
        result->names_no_order = m.names_no_order;
        result->reduced = m.reduced.value_or(memory::dims());
        if (m.slice) {
            result->slice_begin = m.slice->begin;
            result->slice_stride = m.slice->stride;
        }
        result->keeps_aspect = m.aspect_factor.has_value();
        result->aspect_factor = m.aspect_factor.value_or(0.f);
        result->has_dequantized = m.has_dequantized;
        result->sums_rows_alone = m.sums_rows_alone;
        result->has_scaled_summand = m.has_scaled_summand;
        result->is_of_blocks = m.is_of_blocks;
        result->pools_by_vectors = m.pools_by_vectors;
        result->sums_blocks_in_order = m.sums_blocks_in_order;
        return result;
    }

    static std::unique_ptr<format::NodeT> node_of(const node &n) {
        auto result = std::make_unique<format::NodeT>();
        result->op = n.op;
        result->inputs = n.inputs;
        result->outputs = n.outputs;
        for (const auto &[name, value] : n.attributes)
            result->attributes.push_back(attribute_of(name, value));
        if (n.marks)
            result->marks = stored(*n.marks);
        result->number = n.number;
        for (const node &f : n.fused)
            result->fused.push_back(node_of(f));
        result->result_input = n.result_input;
        result->stored_input = n.stored_input;
        return result;
    }

    static std::unique_ptr<format::LayoutT> layout_of(const memory_desc &md) {
        auto result = std::make_unique<format::LayoutT>();
        result->dims.assign(md.dims, md.dims + md.ndims);
        result->type = static_cast<int>(md.data_type);
        result->kind = static_cast<int>(md.format_kind);
        result->offset0 = md.offset0;
        result->strides.assign(md.strides, md.strides + md.ndims);
        result->packed_kind = static_cast<int>(md.packed_kind);
        result->packed_groups = md.packed_groups;
        result->packed_width = md.packed_width;
        const patch_order &p = md.packed_patches;
        result->packed_patches = {p.height, p.row_phases, p.row_shift, p.column_phases, p.column_shift};
        result->packed_steps.assign(std::begin(md.packed_steps), std::end(md.packed_steps));
        return result;
    }

    void add_packed(const packed_constant &w, const std::multimap<const std::uint8_t *, int> &places) {
        const auto [first, last] = places.equal_range(w.original.data());
        const int blob = add_blob(w.packed.get_data_handle(), w.packed.get_desc().get_size());
        for (auto i = first; i != last; ++i) { // tensors may share their elements
            auto result = std::make_unique<format::PackedT>();
            result->tensor = i->second;
            result->plain = layout_of(w.plain.data);
            result->chosen = layout_of(w.packed.get_desc().data);
            result->blob = blob;
            plan_.packed.push_back(std::move(result));
        }
    }

    const plan_to_save &from_;
    format::PlanT plan_;
    std::vector<std::pair<const void *, std::size_t>> contents_; ///< of the blobs
    std::size_t size_ = 0;                                       ///< of all blobs
};

} // namespace

void write_plan(const byte_sink &put, const plan_to_save &plan) { plan_writer(plan).write(put); }

} // namespace octet::model
