// A compiled model names its plan's file and that file's first bytes, which hold the checksum of all that
// follows; so a plan that is replaced by another model's is found out. Files of the cache have names of their
// graphs' contents.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/compiled.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <type_traits>

#include "octet/octet.hpp"
#include "octet/onnx_graph.hpp"

namespace octet::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr const char *context_operator = "EPContext", *context_domain = "com.microsoft";

std::string hex(const std::uint8_t *bytes, std::size_t size) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; i++)
        (text += digits[bytes[i] >> 4]) += digits[bytes[i] & 15];
    return text;
}

/// Bytes that tell a plan from every other: its header, with checksum and sizes.
constexpr std::size_t mark_bytes = 32;
std::string mark_of(const std::uint8_t *bytes, std::size_t size) {
    return size < mark_bytes ? "" : hex(bytes, mark_bytes);
}
std::string mark_of_file(const std::string &path) {
    std::array<char, mark_bytes> first{};
    std::ifstream file(path, std::ios::binary);
    return file.read(first.data(), first.size())
               ? mark_of(reinterpret_cast<const std::uint8_t *>(first.data()), first.size())
               : "";
}

template <typename T> T attribute_of(const node &n, const char *name, const T &absent) {
    const auto found = n.attributes.find(name);
    const T *value = found == n.attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value ? *value : absent;
}

/// A plan lies beside the model, nowhere else: the name comes from a file.
std::string plan_path(const std::string &folder, const std::string &name) {
    if (folder.empty())
        refuse("the plan '" + name +
               "' lies beside the compiled model, and ONNX Runtime does not tell where this model lies; make "
               "the session of the model's path, or compile with ep.context_embed_mode = 1");
    const fs::path relative(name);
    if (name.empty() || name.find('\0') != std::string::npos || relative.is_absolute() ||
        relative.has_parent_path() || name == "..")
        refuse("the plan '" + name + "' is no file beside the compiled model");
    return (fs::path(folder) / relative).string();
}

/// Attributes of a node that is made.
class made_attributes {
public:
    explicit made_attributes(const runtime &ort) : ort_(ort) {}
    ~made_attributes() {
        for (ort_attribute *a : all_)
            ort_(api::release_attribute, a);
    }
    made_attributes(const made_attributes &) = delete;
    made_attributes &operator=(const made_attributes &) = delete;

    void add(const char *name, std::int64_t number) { add(name, &number, 1, attribute_kind::integer); }
    void add(const char *name, const std::string &text) {
        add(name, text.data(), static_cast<int>(text.size()), attribute_kind::text);
    }
    std::vector<ort_attribute *> &all() { return all_; }

private:
    void add(const char *name, const void *data, int length, int kind) {
        ort_attribute *made = nullptr;
        ort_(api::create_attribute, name, data, length, kind, &made);
        all_.push_back(made);
    }
    const runtime &ort_;
    std::vector<ort_attribute *> all_;
};

// ---- Keys of the cache

/// 128 bits that follow from all that was put in; they tell changes, not malice.
class digest {
public:
    void put(const void *bytes, std::size_t size) {
        put_word(size);
        const auto *from = static_cast<const char *>(bytes);
        for (; size >= sizeof(std::uint64_t); from += sizeof(std::uint64_t), size -= sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, from, sizeof word);
            put_word(word);
        }
        std::uint64_t rest = 0;
        if (size != 0) // there may be no bytes at all
            std::memcpy(&rest, from, size);
        put_word(rest);
    }
    void put(const std::string &text) { put(text.data(), text.size()); }
    template <typename T> std::enable_if_t<std::is_arithmetic_v<T>> put(T number) {
        put(&number, sizeof number);
    }
    template <typename T> void put(const std::vector<T> &values) {
        put(values.size());
        for (const T &value : values)
            put(value);
    }
    std::string text() const {
        std::uint64_t words[2] = {finished(a_ ^ b_), finished(b_ + 0x9e3779b97f4a7c15)};
        return hex(reinterpret_cast<const std::uint8_t *>(words), sizeof words);
    }

private:
    void put_word(std::uint64_t word) {
        a_ = rotated(a_ ^ word, 27) * 0x9fb21c651e98df25;
        b_ = rotated(b_ + word, 41) * 0xd6e8feb86659fd93;
    }
    static std::uint64_t rotated(std::uint64_t x, int by) { return x << by | x >> (64 - by); }
    static std::uint64_t finished(std::uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }
    std::uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344;
};

/// All that decides what a plan computes and whether it can be read.
std::string key_of(const model::graph &g, const session_settings &settings) {
    digest d;
    d.put(std::string(version()));
    d.put(std::string(to_string(get_effective_cpu_isa())));
    d.put(settings.profile);
    d.put(settings.signed_pairs);
    d.put(settings.nbits);
    d.put(settings.rows_alike);
    d.put(settings.nbits_level);
    d.put(settings.nbits_block);
    d.put(static_cast<std::int64_t>(g.opset));
    d.put(g.inputs);
    d.put(g.outputs);
    d.put(g.tensors.size());
    for (const model::tensor &t : g.tensors) {
        d.put(t.name);
        d.put(static_cast<int>(t.type));
        d.put(t.foreign_type); // integers' sums wrap, or must not
        d.put(t.dims);
        d.put(t.dim_names);
        d.put(t.is_constant);
        d.put(t.data.data(), t.data.size());
    }
    d.put(g.nodes.size());
    for (const model::node &n : g.nodes) {
        d.put(n.op);
        d.put(n.number);
        d.put(n.inputs);
        d.put(n.outputs);
        d.put(n.attributes.size());
        for (const auto &[name, value] : n.attributes) {
            d.put(name);
            d.put(value.index());
            std::visit([&](const auto &v) { d.put(v); }, value);
        }
    }
    return d.text();
}

} // namespace

bool is_compiled(const node &n) {
    return n.op == model::onnx_operator(context_domain, context_operator) &&
           attribute_of(n, "source", std::string()) == provider_name;
}

model::graph read_compiled(const node &n, const std::string &folder) {
    const std::string content = attribute_of(n, "ep_cache_context", std::string()),
                      mark = attribute_of(n, "octet_mark", std::string());
    const bool is_embedded = attribute_of(n, "embed_mode", std::int64_t{1}) != 0;
    const std::string path = is_embedded ? "" : plan_path(folder, content),
                      name = is_embedded ? "the plan inside the model" : path;
    if (!is_embedded && !fs::exists(path))
        refuse(path + ": does not exist; it was written beside the compiled model, and both belong together");
    const std::string found =
        is_embedded ? mark_of(reinterpret_cast<const std::uint8_t *>(content.data()), content.size())
                    : mark_of_file(path);
    if (found != mark)
        refuse(name + ": is not the plan that was written with this model; compile the model again");
    return is_embedded ? model::read_saved(content.data(), content.size(), name) : model::read_saved(path);
}

compiled_model::compiled_model(const runtime &ort, const session_settings &settings,
                               const std::string &model_path)
    : ort_(ort), is_embedded_(settings.embeds_context) {
    fs::path written = settings.context_path;
    if (written.empty() && !model_path.empty()) // as ONNX Runtime does
        written = fs::path(model_path).replace_extension().string() + "_ctx.onnx";
    if (written.empty() && !is_embedded_)
        refuse("ep.context_file_path is not given, and the model is in no file: there is no place for plans");
    folder_ = written.parent_path().empty() ? "." : written.parent_path().string();
    stem_ = written.stem().string();
}

ort_node *compiled_model::node_of(const network &net, std::size_t number, const std::string &fused,
                                  const std::vector<std::string> &inputs,
                                  const std::vector<std::string> &outputs) const {
    std::string content, mark;
    if (is_embedded_) {
        const std::vector<std::uint8_t> saved = net.save();
        mark = mark_of(saved.data(), saved.size());
        content.assign(saved.begin(), saved.end());
    } else {
        content = stem_ + "_" + std::to_string(number) + ".octet";
        const std::string path = (fs::path(folder_) / content).string();
        net.save(path);
        mark = mark_of_file(path);
    }
    made_attributes attributes(ort_);
    attributes.add("main_context", std::int64_t{1});
    attributes.add("embed_mode", std::int64_t{is_embedded_});
    attributes.add("ep_cache_context", content);
    attributes.add("ep_sdk_version", std::string(version()));
    attributes.add("hardware_architecture", std::string(to_string(get_effective_cpu_isa())));
    attributes.add("partition_name", fused);
    attributes.add("source", std::string(provider_name));
    attributes.add("octet_mark", mark);
    const auto pointers = [](const std::vector<std::string> &names) {
        std::vector<const char *> all;
        for (const std::string &name : names)
            all.push_back(name.c_str());
        return all;
    };
    const std::vector<const char *> in = pointers(inputs), out = pointers(outputs);
    ort_node *made = nullptr;
    ort_.editor(editor_api::create_node, context_operator, context_domain, fused.c_str(), in.data(),
                in.size(), out.data(), out.size(), attributes.all().data(), attributes.all().size(), &made);
    return made;
}

namespace {
constexpr const char *compatibility_head = "octet ";
}

std::string compatibility() {
    return compatibility_head + std::string(version()) + " " + to_string(get_effective_cpu_isa());
}

int compatibility_with(const std::string &told) {
    if (told.rfind(compatibility_head, 0) != 0)
        return ort_compatibility::unknown;
    return told == compatibility() ? ort_compatibility::runs : ort_compatibility::does_not_run;
}

network cached_network::make(model::graph g, const network_options &options) {
    is_from_file_ = false;
    if (settings_.cache_dir.empty())
        return network(std::move(g), options);
    path_ = (fs::path(settings_.cache_dir) / ("octet-" + key_of(g, settings_) + ".octet")).string();
    std::error_code ignored;
    if (fs::exists(path_, ignored)) {
        try {
            model::graph saved = model::read_saved(path_);
            const auto same = [&](const std::vector<int> &a, const std::vector<int> &b) {
                return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](int x, int y) {
                    const model::tensor &s = saved.tensors[static_cast<std::size_t>(x)],
                                        &t = g.tensors[static_cast<std::size_t>(y)];
                    return s.name == t.name && s.type == t.type && s.dims == t.dims;
                });
            };
            if (!same(saved.inputs, g.inputs) || !same(saved.outputs, g.outputs))
                refuse(path_ + ": is the plan of other tensors");
            network net(std::move(saved), options);
            is_from_file_ = true;
            return net;
        } catch (const error &e) {
            tell_(std::string("plan is made anew: ") + e.what());
        }
    }
    return network(std::move(g), options);
}

void cached_network::keep(const network &net) const {
    if (path_.empty() || is_from_file_)
        return;
    try {
        net.save(path_);
    } catch (const error &e) {
        tell_(std::string("plan is not kept: ") + e.what());
    }
}

} // namespace octet::onnxruntime
