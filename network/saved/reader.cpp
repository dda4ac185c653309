// Reads a saved plan in steps that each make the next one safe: lengths, the structure's checksum, FlatBuffers'
// verifier, whether this library can use it at all, places and checksums of the blobs, then every field. Checksums
// find damage, not malice: nothing is believed because a checksum is right.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include <plan_generated.h>

#include "network/dialect.hpp"
#include "network/graph/file.hpp"
#include "network/graph/node_marks.hpp"
#include "network/saved/format.hpp"
#include "network/saved/plan_file.hpp"

namespace octet::model {
namespace {

namespace format = octet::saved;

constexpr flatbuffers::uoffset_t max_depth = 16, max_tables = 1'000'000;

template <typename Vector> std::size_t length(const Vector *v) { return v ? v->size() : 0; }

class reader {
public:
    explicit reader(const shared_bytes &file) : file_(file) {}

    graph read() {
        open_structure();
        check_origin();
        check_blobs();
        const dialect *const spoken = find_dialect(text(plan_->framework()));
        has_narrow_attributes_ = spoken && spoken->has_narrow_attributes;
        graph g = read_graph(*plan_, "");
        auto saved = std::make_shared<saved_plan>();
        saved->options.rule = rule();
        saved->options.profile = text(plan_->profile());
        saved->options.rows_alike = plan_->rows_alike();
        if (plan_->nbits())
            saved->options.nbits = text(plan_->nbits());
        saved->options.qdq_is_int8_allowed = plan_->qdq_is_int8_allowed();
        saved->options.qdq_nbits_level = plan_->qdq_nbits_level();
        saved->options.qdq_nbits_block = plan_->qdq_nbits_block();
        saved->zeros = give_zeros(g);
        for (std::size_t i = 0; i < length(plan_->packed()); i++)
            saved->weights.push_back(
                read_packed(g, *plan_->packed()->Get(at(i)), "packed weights " + std::to_string(i)));
        check_graph(g);
        saved->source = read_graph(*plan_->source(), "the source's ");
        share_elements(g, saved->source);
        check_graph(saved->source);
        g.saved = std::move(saved);
        return g;
    }

private:
    /// The graph of the plan or of its source.
    template <typename Stored> graph read_graph(const Stored &stored, const std::string &whose) {
        graph g;
        g.framework = text(plan_->framework());
        g.opset = plan_->opset();
        g.inputs = list<int>(stored.inputs());
        g.outputs = list<int>(stored.outputs());
        g.tensors.reserve(length(stored.tensors()));
        for (std::size_t t = 0; t < length(stored.tensors()); t++)
            g.tensors.push_back(
                read_tensor(*stored.tensors()->Get(at(t)), whose + "tensor " + std::to_string(t)));
        g.nodes.reserve(length(stored.nodes()));
        for (std::size_t i = 0; i < length(stored.nodes()); i++)
            g.nodes.push_back(
                read_node(*stored.nodes()->Get(at(i)), whose + "node " + std::to_string(i), false));
        return g;
    }

    /// Lets tensors of the source have the plan's bytes, by whose address packed weights are found.
    void share_elements(const graph &plan, graph &source) const {
        for (std::size_t t = 0; t < source.tensors.size(); t++) {
            const format::Tensor &stored = *plan_->source()->tensors()->Get(at(t));
            if (!source.tensors[t].is_constant || stored.blob() >= 0)
                continue;
            const int same = stored.same_as();
            if (same < 0 || index(same) >= plan.tensors.size() || !plan.tensors[index(same)].is_constant)
                fail("the source's tensor " + std::to_string(t) + " has the elements of tensor " +
                     std::to_string(same) + ", which is no constant");
            source.tensors[t].data = plan.tensors[index(same)].data;
        }
    }

    [[noreturn]] static void fail(const std::string &defect) { refuse(defect); }
    static flatbuffers::uoffset_t at(std::size_t i) { return static_cast<flatbuffers::uoffset_t>(i); }
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }

    // ---- The file as a whole

    void open_structure() {
        saved_plan_header header;
        if (file_.size() < sizeof header)
            fail("the file has " + std::to_string(file_.size()) + " bytes, too few for a saved plan");
        std::memcpy(&header, file_.data(), sizeof header);
        if (header.format != saved_plan_format)
            fail("format " + std::to_string(header.format) + " of saved plans, allowed is " +
                 std::to_string(saved_plan_format) + "; save the network again");
        if (header.file_size != file_.size())
            fail("the file has " + std::to_string(file_.size()) + " bytes, but was saved with " +
                 std::to_string(header.file_size));
        if (header.structure_size > file_.size() - sizeof header)
            fail("the structure has " + std::to_string(header.structure_size) + " bytes, more than the file");
        const std::uint8_t *structure = file_.data() + sizeof header;
        const auto size = static_cast<std::size_t>(header.structure_size);
        check_sum(crc32c(structure, size), header.checksum, "the structure");
        if (size < 8 || size >= FLATBUFFERS_MAX_BUFFER_SIZE || !format::PlanBufferHasIdentifier(structure))
            fail("the structure is not that of a saved plan");
        flatbuffers::Verifier verifier(structure, size, max_depth, max_tables);
        if (!format::VerifyPlanBuffer(verifier))
            fail("the structure leaves its " + std::to_string(size) + " bytes");
        plan_ = format::GetPlan(structure);
        structure_end_ = sizeof header + size;
        budget_ = 64 * size + (std::size_t{1} << 16);
    }

    static void check_sum(std::uint32_t found, std::uint32_t expected, const std::string &who) {
        if (found != expected)
            fail("the file is damaged: the checksum of " + who + " is " + std::to_string(found) +
                 ", but was saved as " + std::to_string(expected));
    }

    void check_origin() {
        const std::string isa = to_string(get_effective_cpu_isa());
        if (text(plan_->version()) != version())
            fail("the plan was saved by version " + text(plan_->version()) + " of the library, this is " +
                 version() + "; save the network again");
        if (plan_->numerics() != numerics_version())
            fail("the plan was saved with numerics version " + std::to_string(plan_->numerics()) +
                 ", this library has " + std::to_string(numerics_version()) + "; save the network again");
        if (text(plan_->isa()) != isa)
            fail("the plan was saved for " + text(plan_->isa()) + ", but this process uses " + isa +
                 "; save the network again");
    }

    void check_blobs() {
        std::size_t end = structure_end_;
        const std::size_t count = length(plan_->blobs());
        for (std::size_t i = 0; i < count; i++) {
            const format::Blob b = blob_at(i);
            if (b.offset() % saved_plan_alignment != 0 || b.offset() < end || b.offset() > file_.size() ||
                b.size() > file_.size() - b.offset())
                fail("blob " + std::to_string(i) + " lies at byte " + std::to_string(b.offset()) + " with " +
                     std::to_string(b.size()) + " bytes, in a file of " + std::to_string(file_.size()) +
                     " where " + std::to_string(end) + " are taken");
            end = static_cast<std::size_t>(b.offset() + b.size());
        }
        load_pages(file_);
        std::atomic<std::size_t> next{0};
        std::atomic<bool> is_damaged{false};
        const auto check_some = [&] {
            for (std::size_t i = next++; i < count; i = next++) {
                const format::Blob b = blob_at(i);
                if (crc32c(file_.data() + b.offset(), static_cast<std::size_t>(b.size())) != b.checksum())
                    is_damaged = true;
            }
        };
        constexpr std::size_t bytes_worth_a_thread = std::size_t{1} << 22, most_helpers = 3;
        std::vector<std::thread> helpers;
        const std::size_t wanted = std::min(
            {static_cast<std::size_t>(get_num_threads()) - 1, end / bytes_worth_a_thread, most_helpers});
        try {
            helpers.reserve(wanted);
            while (helpers.size() < wanted)
                helpers.emplace_back(check_some);
        } catch (const std::system_error &) { // no more to be had: this thread does the rest
        }
        check_some();
        for (std::thread &helper : helpers)
            helper.join();
        if (is_damaged)
            fail("the file is damaged: the checksum of a constant is not the one that was saved");
    }

    /// The verifier checks the alignment of the vector's length alone.
    format::Blob blob_at(std::size_t i) const {
        format::Blob b;
        std::memcpy(&b, plan_->blobs()->Data() + i * sizeof b, sizeof b);
        return b;
    }

    shared_bytes blob(int i, const std::string &who) const {
        if (i < 0 || index(i) >= length(plan_->blobs()))
            fail(who + " names blob " + std::to_string(i) + ", but there are " +
                 std::to_string(length(plan_->blobs())));
        const format::Blob b = blob_at(index(i));
        return file_.part(static_cast<std::size_t>(b.offset()), static_cast<std::size_t>(b.size()));
    }

    // ---- Fields. Parts of a FlatBuffer may be shared, so what is copied is bounded.

    void charge_budget(std::size_t bytes) {
        if (bytes > budget_)
            fail("the structure describes far more than its size");
        budget_ -= bytes;
    }

    std::string text(const flatbuffers::String *s) {
        charge_budget(length(s));
        return s ? printable(s->str()) : "";
    }

    template <typename T, typename Stored> std::vector<T> list(const flatbuffers::Vector<Stored> *v) {
        charge_budget(length(v) * sizeof(T));
        return v ? std::vector<T>(v->begin(), v->end()) : std::vector<T>();
    }

    std::vector<std::int64_t> wide_list(const flatbuffers::Vector<std::int64_t> *v) {
        charge_budget(length(v) * sizeof(std::int64_t));
        std::vector<std::int64_t> values(length(v));
        if (!values.empty()) // see `blob_at`
            std::memcpy(values.data(), v->Data(), values.size() * sizeof(std::int64_t));
        return values;
    }

    static data_type type_of(int type, const std::string &who) {
        constexpr data_type known[] = {data_type::undef, data_type::f16, data_type::bf16, data_type::f32,
                                       data_type::s32,   data_type::s8,  data_type::u8,   data_type::s16,
                                       data_type::s4,    data_type::u4,  data_type::s2,   data_type::u2};
        for (const data_type t : known)
            if (static_cast<int>(t) == type)
                return t;
        fail(who + " has type " + std::to_string(type) + ", which is none");
    }

    requantization_rule rule() const {
        for (const requantization_rule r : all_requantization_rules())
            if (static_cast<int>(r) == plan_->rule())
                return r;
        fail("requantization rule " + std::to_string(plan_->rule()) + " is none");
    }

    tensor read_tensor(const format::Tensor &source, const std::string &who) {
        charge_budget(sizeof(tensor));
        tensor t;
        t.name = text(source.name());
        t.type = type_of(source.type(), who);
        t.foreign_type = text(source.foreign_type());
        t.dims = wide_list(source.dims());
        for (std::size_t i = 0; i < length(source.dim_names()); i++)
            t.dim_names.push_back(text(source.dim_names()->Get(at(i))));
        if (!t.dim_names.empty() && t.dim_names.size() != t.dims.size())
            fail(who + " has " + std::to_string(t.dim_names.size()) + " names of dimensions, but " +
                 std::to_string(t.dims.size()) + " dimensions");
        t.is_channels_last = source.is_channels_last();
        if (const format::Quantization *q = source.quantization()) {
            t.quant.scales = list<float>(q->scales());
            t.quant.zero_points = list<std::int32_t>(q->zero_points());
            t.quant.axis = q->axis();
            if (t.quant.scales.size() != t.quant.zero_points.size())
                fail(who + " has " + std::to_string(t.quant.scales.size()) + " scales, but " +
                     std::to_string(t.quant.zero_points.size()) + " zero points");
        }
        t.is_constant = source.is_constant();
        t.is_variable = source.is_variable();
        if (t.is_constant && source.blob() >= 0)
            t.data = blob(source.blob(), who);
        return t;
    }

    /// Integers that have 32 bits in the framework's files, which lowering functions count on.
    std::int64_t checked(std::int64_t value, const std::string &who) const {
        if (has_narrow_attributes_ && value != static_cast<std::int32_t>(value))
            fail(who + " has an attribute of " + std::to_string(value) + ", which does not fit 32 bits");
        return value;
    }

    attribute read_attribute(const format::Attribute &a, const std::string &who) {
        switch (a.kind()) {
        case 0:
            return checked(a.integer(), who);
        case 1:
            return a.real();
        case 2:
            return text(a.text());
        case 3: {
            const std::vector<std::int64_t> values = wide_list(a.integers());
            for (const std::int64_t value : values)
                checked(value, who);
            return values;
        }
        default:
            fail(who + " has an attribute of kind " + std::to_string(a.kind()));
        }
    }

    std::shared_ptr<const node_marks> read_marks(const format::Marks &source) {
        charge_budget(sizeof(node_marks));
        auto m = std::make_shared<node_marks>();
        m->absent_inputs = source.absent_inputs();
        m->is_wide = source.is_wide();
        if (length(source.padding_word()) != 0)
            m->padding_word = text(source.padding_word());
        m->names_no_order = source.names_no_order();
        if (source.reduced())
            m->reduced = wide_list(source.reduced());
        if (source.slice_begin())
            m->slice = slice_places{wide_list(source.slice_begin()), wide_list(source.slice_stride())};
        if (source.keeps_aspect())
            m->aspect_factor = source.aspect_factor();
        m->has_dequantized = source.has_dequantized();
        m->sums_rows_alone = source.sums_rows_alone();
        m->has_scaled_summand = source.has_scaled_summand();
        m->is_of_blocks = source.is_of_blocks();
        m->pools_by_vectors = source.pools_by_vectors();
        m->sums_blocks_in_order = source.sums_blocks_in_order();
        return m;
    }

    node read_node(const format::Node &source, const std::string &who, bool is_fused) {
        charge_budget(sizeof(node));
        node n;
        n.op = text(source.op());
        n.inputs = list<int>(source.inputs());
        n.outputs = list<int>(source.outputs());
        for (std::size_t i = 0; i < length(source.attributes()); i++) {
            const format::Attribute &a = *source.attributes()->Get(at(i));
            charge_budget(64);
            n.attributes[text(a.name())] = read_attribute(a, who);
        }
        if (source.marks())
            n.marks = read_marks(*source.marks());
        n.number = source.number();
        if (is_fused && length(source.fused()) != 0)
            fail(who + " is fused and has fused operators itself");
        for (std::size_t i = 0; i < length(source.fused()); i++)
            n.fused.push_back(read_node(*source.fused()->Get(at(i)), who, true));
        n.result_input = source.result_input();
        n.stored_input = source.stored_input();
        return n;
    }

    // ---- Weights

    /// Constants that are only packed: their elements are read by nobody, and are zeros that take no memory.
    shared_bytes give_zeros(graph &g) {
        std::size_t total = 0;
        std::vector<std::pair<tensor *, std::size_t>> places;
        for (std::size_t i = 0; i < g.tensors.size(); i++) {
            tensor &t = g.tensors[i];
            if (!t.is_constant || plan_->tensors()->Get(at(i))->blob() >= 0)
                continue;
            tensor described = t; // as if computed: dimensions alone are checked
            described.is_constant = false;
            graph one;
            one.tensors = {std::move(described)};
            check_tensor(one, tensor_id(0));
            const auto bytes = static_cast<std::size_t>(element_count(t.dims)) *
                               std::max<std::size_t>(memory::data_type_size(t.type), 1);
            if (bytes > file_.size() - total) // packed elements are as many
                fail("tensor " + std::to_string(i) + " ('" + t.name + "') has " + std::to_string(bytes) +
                     " bytes of packed elements, more than the file");
            places.emplace_back(&t, total);
            total += bytes;
        }
        const shared_bytes all = zero_bytes(total);
        for (std::size_t i = 0; i < places.size(); i++)
            places[i].first->data = all.part(
                places[i].second, (i + 1 < places.size() ? places[i + 1].second : total) - places[i].second);
        return all;
    }

    static void copy_dims(const std::vector<std::int64_t> &from, dim_t *to) {
        std::copy(from.begin(), from.end(), to);
    }

    /// Only compared with layouts that primitives choose.
    memory::desc read_layout(const format::Layout &source, const std::string &who) {
        const auto dims = wide_list(source.dims()), strides = wide_list(source.strides()),
                   patches = wide_list(source.packed_patches()), steps = wide_list(source.packed_steps());
        memory_desc md;
        if (dims.empty() || dims.size() > max_ndims || strides.size() != dims.size() || patches.size() != 5 ||
            steps.size() != std::size(md.packed_steps))
            fail(who + " have a layout of " + std::to_string(dims.size()) + " dimensions that is none");
        md.ndims = static_cast<int>(dims.size());
        copy_dims(dims, md.dims);
        copy_dims(strides, md.strides);
        copy_dims(steps, md.packed_steps);
        md.data_type = type_of(source.type(), who);
        md.format_kind = static_cast<format_kind>(source.kind());
        md.offset0 = source.offset0();
        md.packed_kind = static_cast<packed_kind>(source.packed_kind());
        md.packed_groups = source.packed_groups();
        md.packed_width = source.packed_width();
        md.packed_patches = {patches[0], patches[1], patches[2], patches[3], patches[4]};
        return md;
    }

    saved_constant read_packed(const graph &g, const format::Packed &source, const std::string &who) {
        charge_budget(sizeof(saved_constant));
        if (source.tensor() < 0 || index(source.tensor()) >= g.tensors.size() ||
            !g.tensors[index(source.tensor())].is_constant)
            fail(who + " are those of tensor " + std::to_string(source.tensor()) + ", which is no constant");
        return {g.tensors[index(source.tensor())].data, read_layout(*source.plain(), who),
                read_layout(*source.chosen(), who), blob(source.blob(), who)};
    }

    const shared_bytes &file_;
    const format::Plan *plan_ = nullptr;
    bool has_narrow_attributes_ = false;
    std::size_t structure_end_ = 0;
    std::size_t budget_ = 0; ///< bytes that may still be copied out of the structure
};

} // namespace

graph read_plan(const shared_bytes &bytes, const std::string &name) {
    try {
        return reader(bytes).read();
    } catch (const error &e) {
        throw error(e.status, name + ": " + e.what());
    }
}

} // namespace octet::model
