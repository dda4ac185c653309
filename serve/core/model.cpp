// Loading, warming and running. Requests of one batch lie one after the other in the inputs of a context; what fills up a
// batch to one of the sizes is zeros, and nobody reads their rows.
// SPDX-License-Identifier: Apache-2.0
#include "core/model.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <sstream>

#include <openssl/evp.h>

#include "core/datatypes.hpp"
#include "core/small_json.hpp"
#include "core/usable_memory.hpp"

namespace octet::serve {
namespace {

constexpr double most_measuring_seconds = 1, most_warming_seconds = 2;
constexpr std::size_t most_places = 12; ///< of an instance; sizes beyond are made again
/// Bytes of an input from which on it is read where it lies: less is copied in less time than it takes to say where it is.
constexpr std::size_t least_in_place = std::size_t(16) << 10;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

/// A file is the one that its configuration names, or is refused.
void check_digest(const std::string &bytes, const std::string &expected, const std::string &path) {
    if (expected.empty())
        return;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1)
        throw error(status::runtime_error, path + ": its SHA-256 cannot be computed");
    std::string text;
    for (unsigned i = 0; i < size; i++)
        for (const unsigned half : {digest[i] / 16u, digest[i] % 16u})
            text += "0123456789abcdef"[half];
    if (text != expected)
        throw error(status::invalid_arguments,
                    path + ": its SHA-256 is " + text + ", \"sha256\" of config.json allows " + expected);
}

/// What is read from a path is mapped, and a file that is overwritten in place would change under the network: models
/// are read into memory. Saved plans are mapped, because processes share their weights so, and so is an .onnx file with
/// company, where its data may lie.
model::graph read(const model_source &source, const std::string &sha256) {
    namespace fs = std::filesystem;
    if (source.path.empty())
        return model::read_network(reinterpret_cast<const std::uint8_t *>(source.bytes.data()),
                                   source.bytes.size(), source.name);
    const fs::path path = source.path;
    bool is_mapped = path.extension() == ".octet";
    if (path.extension() == ".onnx")
        for (const auto &entry :
             fs::directory_iterator(path.parent_path().empty() ? "." : path.parent_path()))
            is_mapped |= entry.is_regular_file() && entry.path().extension() == ".data";
    if (is_mapped && sha256.empty())
        return model::read_network(source.path);
    const std::string bytes = read_regular_file(source.path, std::size_t(1) << 40);
    check_digest(bytes, sha256, source.path);
    if (is_mapped)
        return model::read_network(source.path);
    const auto *begin = reinterpret_cast<const std::uint8_t *>(bytes.data());
    if (path.extension() == ".tflite")
        return model::read_tflite(begin, bytes.size(), source.path);
    if (path.extension() == ".onnx")
        return model::read_onnx(begin, bytes.size(), source.path);
    return model::read_network(begin, bytes.size(), source.path);
}

/// What a network whose sizes a request chooses may take, if nothing is said: instances share a quarter of the memory, and
/// weights, which they share, come on top.
std::size_t limit_of_open_sizes(const model_source &source, int instances) {
    std::error_code ignored;
    const std::uintmax_t file =
        source.path.empty() ? source.bytes.size() : std::filesystem::file_size(source.path, ignored);
    return 2 * static_cast<std::size_t>(file) + usable_memory() / 4 / static_cast<std::size_t>(instances);
}

/// Sizes to load and warm up a network with, where the file leaves them open and config.json tells none; requests choose
/// their own. One size for all, the first that every operator can have.
std::map<std::string, dim_t> usual_sizes(const model::graph &g) {
    for (const dim_t size : {16, 32, 64, 128, 256, 512, 1024, 224, 299, 320, 384, 640, 8, 4, 2, 1}) {
        std::map<std::string, dim_t> dimensions;
        for (const int t : g.inputs) {
            const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
            for (std::size_t d = 0; d < input.dims.size(); d++)
                if (input.dims[d] < 0)
                    dimensions[input.dim_names[d]] = size;
        }
        try {
            model::graph sized = g;
            model::set_sizes(sized, {0, {}, dimensions});
            return dimensions;
        } catch (const error &e) { // another one may fit
            if (e.status != status::invalid_arguments)
                throw;
        }
    }
    throw error(status::invalid_arguments,
                "an input has an open size, and none that was tried fits all operators: \"dimensions\" or "
                "\"shapes\" of config.json give the usual one");
}

std::size_t product(const memory::dims &dims, std::size_t from) {
    return static_cast<std::size_t>(
        std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(std::min(from, dims.size())), dims.end(),
                        std::int64_t{1}, std::multiplies<>()));
}

/// Zeros and ones, small codes, tokens: values that any network takes.
void fill(std::byte *bytes, std::size_t size, data_type type, std::minstd_rand &random) {
    if (type == data_type::f32) {
        std::uniform_real_distribution<float> uniform(0, 1);
        for (std::size_t i = 0; i < size / 4; i++) {
            const float value = uniform(random);
            std::memcpy(bytes + 4 * i, &value, 4);
        }
    } else if (type == data_type::s8 || type == data_type::u8) {
        for (std::size_t i = 0; i < size; i++)
            bytes[i] = static_cast<std::byte>(random() >> 7);
    } else {
        std::memset(bytes, 0, size);
    }
}

} // namespace

memory::dims tensor_info::shown() const {
    memory::dims d = dims;
    for (std::size_t i = 0; i < d.size(); i++)
        if (is_open[i])
            d[i] = -1;
    return d;
}

served_model::place::place(network n) : net(std::move(n)) {
    for (std::size_t i = 0; i < net.input_count(); i++)
        inputs.push_back(static_cast<std::byte *>(net.input(i).data()));
    for (std::size_t i = 0; i < net.output_count(); i++) {
        outputs.push_back(static_cast<std::byte *>(net.output(i).data()));
        output_bytes.push_back(net.output(i).size_in_bytes());
    }
}

std::shared_ptr<served_model> served_model::load(const model_source &source, const model_config &config,
                                                 int workers, const std::function<bool()> &stop,
                                                 const model_findings *known) {
    const auto m = std::shared_ptr<served_model>(new served_model);
    m->name_ = source.name;
    m->version_ = source.version;
    const model::graph g = read(source, config.sha256);
    m->framework_ = g.saved ? "plan" : g.framework;
    m->why_alone_ = config.most_rows == 1 ? "max_batch_size is 1" : model::why_not_batched(g);
    network_options options = config.network;
    options.threads = std::max(config.threads, 1);
    const bool is_open = std::any_of(g.inputs.begin(), g.inputs.end(), [&](int t) {
        const auto &dims = g.tensors[static_cast<std::size_t>(t)].dims;
        return std::any_of(dims.begin(), dims.end(), [](dim_t d) { return d < 0; });
    });
    if (is_open && options.dimensions.empty() && options.shapes.empty())
        options.dimensions = usual_sizes(g);
    const bool has_names =
        std::any_of(g.inputs.begin(), g.inputs.end(), [&](int t) { // of open sizes that are 1 in the graph
            const auto &names = g.tensors[static_cast<std::size_t>(t)].dim_names;
            return std::any_of(names.begin(), names.end(), [](const std::string &n) { return !n.empty(); });
        });
    if ((is_open || (has_names && !m->is_batching())) && options.memory_limit == 0)
        options.memory_limit = limit_of_open_sizes(source, config.instances > 0 ? config.instances : workers);
    m->narrow_ = std::make_unique<network>(g, options);
    m->most_rows_ = config.most_rows;
    m->describe(g);
    m->could_batch_ = m->is_batching();
    m->queue_options_ = config.queue;
    m->warm(g, config, workers, stop, known);
    return m;
}

void served_model::describe(const model::graph &g) {
    for (const model::tensor &t : g.tensors)
        has_state_ |= t.is_variable;
    const auto info = [&](const tensor_view &view, const model::tensor *in_file) {
        if (*protocol_name(view.data_type()) == '\0')
            throw error(status::unimplemented, "tensor " + view.text() + ": the protocol has no such type");
        tensor_info t{view.name(), view.data_type(), view.dims(), std::vector<bool>(view.dims().size()), 0};
        if (is_batching())
            t.is_open[0] = true;
        else if (in_file)
            for (std::size_t d = 0; d < std::min(in_file->dim_names.size(), t.dims.size()); d++)
                t.is_open[d] = !in_file->dim_names[d].empty();
        t.bytes = product(t.dims, is_batching() ? 1 : 0) * size_of(t.type);
        return t;
    };
    for (std::size_t i = 0; i < narrow_->input_count(); i++)
        inputs_.push_back(info(narrow_->input(i), &g.tensors[static_cast<std::size_t>(g.inputs[i])]));
    bool some_open = false;
    for (const tensor_info &t : inputs_)
        some_open |= !is_batching() && std::find(t.is_open.begin(), t.is_open.end(), true) != t.is_open.end();
    for (std::size_t i = 0; i < narrow_->output_count(); i++) {
        outputs_.push_back(info(narrow_->output(i), nullptr));
        if (some_open) // whatever follows from the open sizes
            outputs_.back().is_open.assign(outputs_.back().dims.size(), true);
    }
    for (const auto *list : {&inputs_, &outputs_})
        for (std::size_t i = 0; i < list->size(); i++)
            for (std::size_t k = 0; k < i; k++)
                if ((*list)[i].name == (*list)[k].name)
                    throw error(status::invalid_arguments, "two tensors are called '" + (*list)[i].name +
                                                               "', requests could not tell them apart");
}

// ---- Warming

double served_model::best_time(place &p) const {
    double best = 1e9;
    const auto begin = clock::now();
    for (int r = 0; r < 50 && (r == 0 || seconds_since(begin) < (r == 1 ? 0.25 : 0.02)); r++) {
        const auto start = clock::now();
        p.net.run();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

/// Doubles the batch until a row gets no cheaper by it, twice in a row (a machine that is busy measures badly), or until that would
/// take too long.
std::vector<std::int64_t> served_model::measured_sizes(std::int64_t most, const std::function<bool()> &stop) {
    constexpr double worth = 0.95;
    std::vector<std::int64_t> sizes = {1};
    double best = best_time(place_for(*free_.front(), "", 1));
    int in_vain = 0;
    const auto begin = clock::now();
    for (std::int64_t size = 2; size <= most && in_vain < 2; size *= 2) {
        if (stop && stop())
            throw error(status::runtime_error, "stopped");
        if (seconds_since(begin) + 2 * best * static_cast<double>(size) > most_measuring_seconds)
            break;
        const double row = best_time(place_for(*free_.front(), "", size)) / static_cast<double>(size);
        if (row > best * worth) {
            in_vain++;
            continue;
        }
        in_vain = 0;
        best = row;
        sizes.push_back(size);
    }
    return sizes;
}

/// The witness of `model::why_not_batched`: different rows together and each by itself.
bool served_model::rows_are_independent(std::int64_t size) {
    std::minstd_rand random(static_cast<unsigned>(size));
    place &together = place_for(*free_.front(), "", size);
    for (std::size_t i = 0; i < inputs_.size(); i++)
        fill(together.inputs[i], inputs_[i].bytes * static_cast<std::size_t>(size), inputs_[i].type, random);
    together.net.run();
    place &alone = place_for(*free_.front(), "", 1);
    for (std::int64_t row : {std::int64_t{0}, size / 2, size - 1}) {
        const auto at = static_cast<std::size_t>(row);
        for (std::size_t i = 0; i < inputs_.size(); i++)
            std::memcpy(alone.inputs[i], together.inputs[i] + at * inputs_[i].bytes, inputs_[i].bytes);
        alone.net.run();
        for (std::size_t i = 0; i < outputs_.size(); i++)
            if (std::memcmp(alone.outputs[i], together.outputs[i] + at * outputs_[i].bytes,
                            outputs_[i].bytes) != 0)
                return false;
    }
    return true;
}

void served_model::find_sizes(const model_config &config, const std::function<bool()> &stop) {
    try {
        const std::int64_t largest = config.sizes.empty() ? most_rows_ : config.sizes.back();
        if (!rows_are_independent(std::min<std::int64_t>(largest, 3)))
            why_alone_ = "a batch of it gave other bytes than its rows alone";
        else
            queue_options_.sizes = config.sizes.empty() ? measured_sizes(most_rows_, stop) : config.sizes;
    } catch (const error &e) {
        if (e.status == status::runtime_error)
            throw;
        why_alone_ = e.what(); // the network cannot have another batch
    }
    if (is_batching())
        for (const std::int64_t size : queue_options_.sizes)
            if (!rows_are_independent(size))
                throw error(status::runtime_error,
                            "a batch of " + std::to_string(size) +
                                " gave other bytes than its rows alone, please report it");
}

/// Worth a second set of weights only where it is clearly faster.
void served_model::use_all_cores(const model::graph &g, int workers, bool is_known) {
    network_options options = narrow_->options();
    options.threads = workers;
    wide_ = std::make_unique<network>(g, options);
    free_wide_ = std::make_unique<instance>();
    free_wide_->made_of = wide_.get();
    if (!is_known && best_time(place_for(*free_wide_, "", 1)) * 1.3 > queue_options_.seconds_per_row) {
        free_wide_.reset();
        wide_.reset();
    }
}

void served_model::warm(const model::graph &g, const model_config &config, int workers,
                        const std::function<bool()> &stop, const model_findings *known) {
    queue_options_.instances = config.instances > 0 ? config.instances : workers;
    for (int i = 0; i < queue_options_.instances; i++) {
        free_.push_back(std::make_unique<instance>());
        free_.back()->made_of = narrow_.get();
    }
    place &one = place_for(*free_.front(), "", 1);
    std::minstd_rand random(1);
    for (std::size_t i = 0; i < inputs_.size(); i++)
        fill(one.inputs[i], product(inputs_[i].dims, 0) * size_of(inputs_[i].type), inputs_[i].type, random);
    const double measured = best_time(one);
    queue_options_.seconds_per_row = known ? known->seconds_per_row : measured;
    if (known) {
        queue_options_.sizes = known->sizes;
        why_alone_ = known->why_alone;
    } else if (is_batching()) {
        find_sizes(config, stop);
    }
    if (!is_batching()) {
        queue_options_.sizes = {1};
        if (could_batch_)
            for (auto *list : {&inputs_, &outputs_})
                for (tensor_info &t : *list)
                    t.is_open[0] = false; // one row
    }
    const auto begin = clock::now();
    for (const auto &i : free_)
        for (const std::int64_t size : queue_options_.sizes) {
            if (stop && stop())
                throw error(status::runtime_error, "stopped");
            place &p = place_for(*i, "", size);
            if (seconds_since(begin) < most_warming_seconds)
                p.net.run();
        }
    for (const auto &i : free_)
        for (const auto &[key, p] : i->places)
            buffer_bytes_ += p->net.buffer_bytes().first;
    constexpr double least_worth_sharing = 2e-4;
    const bool may_be_wide = known ? known->is_wide : queue_options_.seconds_per_row >= least_worth_sharing;
    if (may_be_wide && config.threads == 0 && workers > 1)
        use_all_cores(g, workers, known != nullptr);
    weight_bytes_ = narrow_->weight_bytes() + (wide_ ? wide_->weight_bytes() : 0);
}

// ---- Requests

void served_model::set_shapes(job &j, const std::vector<memory::dims> &shapes) const {
    bool is_usual = true;
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        const tensor_info &t = inputs_[i];
        const memory::dims &given = shapes[i];
        bool fits = given.size() == t.dims.size();
        for (std::size_t d = 0; fits && d < given.size(); d++)
            fits = t.is_open[d] ? given[d] >= 1 : given[d] == t.dims[d];
        if (!fits)
            throw refusal(outcome::invalid, "input '" + t.name + "' has shape " +
                                                shown(model::to_text(given)) + ", allowed is " +
                                                model::to_text(t.shown()));
        const auto from = static_cast<std::ptrdiff_t>(is_batching() ? 1 : 0);
        is_usual &= std::equal(given.begin() + from, given.end(), t.dims.begin() + from);
    }
    if (is_batching()) {
        j.rows = shapes[0][0];
        for (std::size_t i = 0; i < inputs_.size(); i++)
            if (shapes[i][0] != j.rows)
                throw refusal(outcome::invalid, "input '" + inputs_[i].name + "' has " +
                                                    std::to_string(shapes[i][0]) + " rows, the first one " +
                                                    std::to_string(j.rows));
        if (j.rows > most_rows_)
            throw refusal(outcome::invalid, std::to_string(j.rows) + " rows given, at most " +
                                                std::to_string(most_rows_) + " are allowed in a request");
    }
    j.shapes.clear();
    if (!is_usual)
        for (const memory::dims &d : shapes)
            j.shapes += model::to_text(d) + ' ';
}

std::int64_t served_model::size_for(std::int64_t rows) const {
    const auto &sizes = queue_options_.sizes;
    const auto found = std::lower_bound(sizes.begin(), sizes.end(), rows);
    return found == sizes.end() ? rows : *found;
}

served_model::place &served_model::place_for(instance &i, const std::string &shapes,
                                             std::int64_t rows) const {
    const std::string key = shapes + std::to_string(rows);
    const auto found =
        std::find_if(i.places.begin(), i.places.end(), [&](const auto &p) { return p.first == key; });
    if (found != i.places.end()) {
        std::rotate(i.places.begin(), found, found + 1);
        return *i.places.front().second;
    }
    network net = i.made_of->new_context();
    if (!shapes.empty()) {
        network_sizes sizes;
        std::istringstream text(shapes);
        for (const tensor_info &t : inputs_) {
            memory::dims &dims = sizes.shapes[t.name];
            std::string one, number;
            text >> one;
            for (std::istringstream parts(one); std::getline(parts, number, 'x');)
                dims.push_back(std::stoll(number));
        }
        try {
            net.resize(sizes);
        } catch (const error &e) {
            throw refusal(e.status == status::out_of_memory ? outcome::too_large : outcome::invalid,
                          e.what());
        }
    } else if (rows != 1) {
        network_sizes sizes{rows, i.made_of->options().shapes, i.made_of->options().dimensions};
        net.resize(sizes);
    }
    const std::size_t most = i.made_of->options().memory_limit;
    std::size_t bytes = net.buffer_bytes().first;
    for (const auto &[ignored, p] : i.places)
        bytes += p->net.buffer_bytes().first;
    while (!i.places.empty() && (i.places.size() >= most_places || (!shapes.empty() && bytes > most))) {
        bytes -= i.places.back().second->net.buffer_bytes().first;
        i.places.pop_back();
    }
    i.places.insert(i.places.begin(), {key, std::make_unique<place>(std::move(net))});
    return *i.places.front().second;
}

/// Inputs that a network reads where a request has them, for the time of a run.
class served_model::inputs_in_place {
public:
    explicit inputs_in_place(network &n) : net_(n) {}
    ~inputs_in_place() {
        for (const std::size_t i : bound_)
            net_.bind_input(i, nullptr, 0);
    }
    inputs_in_place(const inputs_in_place &) = delete;
    inputs_in_place &operator=(const inputs_in_place &) = delete;
    /// False for one that has to be copied.
    bool take(std::size_t i, const byte_range &bytes, std::size_t alignment) {
        if (bytes.size < least_in_place || reinterpret_cast<std::uintptr_t>(bytes.data) % alignment != 0)
            return false;
        net_.bind_input(i, bytes.data, bytes.size);
        bound_.push_back(i);
        return true;
    }

private:
    network &net_;
    std::vector<std::size_t> bound_;
};

void served_model::run_in(place &p, const std::vector<std::shared_ptr<job>> &batch, std::int64_t size) const {
    const bool is_whole = batch.size() == 1 && (!is_batching() || batch.front()->rows == size);
    inputs_in_place in_place(p.net);
    for (std::size_t i = 0; i < inputs_.size(); i++) {
        if (is_whole && in_place.take(i, batch.front()->inputs[i], size_of(inputs_[i].type)))
            continue;
        std::byte *to = p.inputs[i];
        for (const auto &j : batch) {
            std::memcpy(to, j->inputs[i].data, j->inputs[i].size);
            to += j->inputs[i].size;
        }
        if (is_batching())
            std::memset(to, 0,
                        static_cast<std::size_t>(p.inputs[i] +
                                                 inputs_[i].bytes * static_cast<std::size_t>(size) - to));
    }
    if (has_state_)
        p.net.reset_state(); // an answer depends on no other request
    if (batch.front()->wants_profile) {
        std::string &text = batch.front()->profile;
        const auto &nodes = p.net.get_graph().nodes;
        p.net.run([&](std::size_t node, double seconds) {
            std::ostringstream row;
            row << (text.empty() ? "[" : ",") << "{\"node\":" << model::node_number(p.net.get_graph(), node)
                << ",\"op\":\"" << model::operator_text(nodes[node]) << "\",\"runs_on\":\""
                << p.net.implementation(node) << "\",\"seconds\":" << seconds << '}';
            text += row.str();
        });
        text += text.empty() ? "[]" : "]";
    } else {
        p.net.run();
    }
    std::int64_t row = 0;
    for (const auto &j : batch) {
        std::size_t total = 0, at = 0;
        const auto bytes_of = [&](std::size_t o) {
            return is_batching() ? outputs_[o].bytes * static_cast<std::size_t>(j->rows) : p.output_bytes[o];
        };
        for (const std::size_t o : j->wanted)
            total += bytes_of(o);
        if (j->reply_held && !j->reply_held->grow(total)) {
            j->result = outcome::overloaded;
            j->sentence = "replies fill the memory for requests";
            row += j->rows;
            continue;
        }
        j->storage.resize(total);
        for (const std::size_t o : j->wanted) {
            const tensor_view out = p.net.output(o); // which may be an input's bytes
            std::memcpy(j->storage.data() + at,
                        static_cast<const std::byte *>(out.data()) +
                            (is_batching() ? outputs_[o].bytes * static_cast<std::size_t>(row) : 0),
                        bytes_of(o));
            j->outputs.push_back({j->storage.data() + at, bytes_of(o)});
            j->output_dims.push_back(out.dims());
            if (is_batching())
                j->output_dims.back()[0] = j->rows;
            at += bytes_of(o);
        }
        row += j->rows;
    }
}

void served_model::run(const std::vector<std::shared_ptr<job>> &batch, bool is_alone) {
    std::int64_t rows = 0;
    for (const auto &j : batch)
        rows += j->rows;
    for (const auto &j : batch)
        j->batch = rows;
    std::unique_ptr<instance> mine;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_alone && rows == 1 && free_wide_)
            mine = std::move(free_wide_);
        else {
            mine = std::move(free_.back());
            free_.pop_back();
        }
    }
    const auto give_back = [&] {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (mine->made_of == wide_.get())
            free_wide_ = std::move(mine);
        else
            free_.push_back(std::move(mine));
    };
    try {
        const std::int64_t size = is_batching() ? size_for(rows) : 1;
        run_in(place_for(*mine, batch.front()->shapes, size), batch, size);
    } catch (...) {
        give_back();
        throw;
    }
    give_back();
}

void served_model::ran(const std::vector<std::shared_ptr<job>> &batch, double seconds) {
    if (!metrics_)
        return;
    metrics_->ran(batch.front()->batch, batch.size(), seconds);
}

} // namespace octet::serve
