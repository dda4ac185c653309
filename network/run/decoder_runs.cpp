// Tokens of one sequence go in chunks, for which there are plans; what is left over fills up a chunk or, as a single
// token, runs with those of other sequences. Rows behind the last token see it, but no token sees them, and the next
// ones take their place.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/decoder_runs.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "network/graph/descs.hpp"
#include "network/graph/file.hpp"
#include "network/graph/graph.hpp"
#include "octet/settings.hpp"

namespace octet::model {
namespace {

constexpr dim_t chunks[] = {512, 256, 64, 16}, least_chunk = 16, most_together = 64;

const char *const names_of_inputs = "input_ids, attention_mask, position_ids, total_sequence_length, "
                                    "past_sequence_length, and pasts of 4 dimensions";

bool is_cache(const tensor &t) { return t.dims.size() == 4 && t.dims[1] > 0 && t.dims[3] > 0; }

std::size_t row_bytes(const tensor &cache) {
    return static_cast<std::size_t>(cache.dims[3]) * memory::data_type_size(cache.type);
}

/// Rounded up so that the least chunk divides it, and groups of heads fill pages.
dim_t capacity_for(const graph &g, const decoder_options &options) {
    if (options.capacity < 1)
        refuse("capacity is " + std::to_string(options.capacity) + ", allowed: 1 or more");
    dim_t step = least_chunk;
    for (const tensor_id t : inputs_of(g))
        if (is_cache(tensor_at(g, t)))
            step = std::max(step, past_layout::rows_of_pages(row_bytes(tensor_at(g, t))));
    return (options.capacity + step - 1) / step * step;
}

network_options checked_network(network_options options) {
    if (options.batch != 0 || !options.shapes.empty() || !options.dimensions.empty())
        refuse("sizes are given in the options of the network, allowed: none, a decoder has its own");
    options.rows_alike = true;
    return options;
}

void need_rank(const tensor &t, std::size_t rank, data_type type) {
    if (t.dims.size() != rank || t.type != type)
        refuse("'" + t.name + "' is " + to_text(t.dims) + " of " + to_text(t.type) +
               ", allowed: " + std::to_string(rank) + " dimensions of " + to_text(type));
}

} // namespace

// ---- What there is

decoder_runs::description::description(graph g, const decoder_options &options)
    : logits(g.outputs.size()), layout(std::make_shared<past_layout>(capacity_for(g, options))) {
    for (const tensor_id t : inputs_of(g)) {
        const tensor &input = tensor_at(g, t);
        tensor_id *const known = input.name == "input_ids"               ? &tokens
                                 : input.name == "attention_mask"        ? &mask
                                 : input.name == "position_ids"          ? &positions
                                 : input.name == "total_sequence_length" ? &all
                                 : input.name == "past_sequence_length"  ? &before
                                                                         : nullptr;
        if (known) {
            const bool is_number = known == &all || known == &before;
            need_rank(input, !is_number ? 2 : input.dims.empty() ? 0 : 1, data_type::s32);
            *known = t;
            continue;
        }
        const memory::dims &dims = input.dims;
        if (!is_cache(input))
            refuse("input '" + input.name + "' is " + to_text(dims) + ", allowed: " + names_of_inputs);
        pasts.push_back(t);
        past_dims.push_back({input.name, {1, dims[1], layout->capacity(), dims[3]}});
        layout->add(dims[1], row_bytes(input));
    }
    std::vector<tensor_id> lent = pasts;
    for (std::size_t o = 0; o < g.outputs.size(); o++)
        if (tensor_at(g, outputs_of(g)[o]).name == "logits")
            logits = o;
        else
            lent.push_back(outputs_of(g)[o]);
    for (const node &n : g.nodes)
        readers_of_before += std::count(n.inputs.begin(), n.inputs.end(), before.number());
    if (!tokens || !mask || pasts.empty() || logits == g.outputs.size())
        refuse(std::string("the network is no decoder: inputs are ") + names_of_inputs +
               ", and one of the outputs is logits");
    network =
        std::make_shared<shared_network>(std::move(g), checked_network(options.network), std::move(lent));
}

network_sizes decoder_runs::description::sizes(dim_t batch, dim_t rows, dim_t columns, dim_t past) const {
    network_sizes sizes;
    sizes.shapes["input_ids"] = {batch, rows};
    sizes.shapes["attention_mask"] = {batch, columns};
    if (positions)
        sizes.shapes["position_ids"] = {batch, rows};
    for (const auto &[name, dims] : past_dims)
        sizes.shapes[name] = {batch, dims[1], past, dims[3]};
    return sizes;
}

decoder_runs::place::place(const description &d, dim_t batch, dim_t of_rows, dim_t past_rows)
    : where(d.network->at(d.sizes(batch, of_rows, d.layout->capacity(), past_rows))), rows(of_rows) {
    const graph &g = where.get_graph();
    for (const tensor_id past : d.pasts) {
        const auto outputs = outputs_of(g);
        const auto found = std::find_if(outputs.begin(), outputs.end(),
                                        [&](tensor_id t) { return where.appending(past, t) != nullptr; });
        if (found == outputs.end() || tensor_at(g, *found).dims[2] != d.layout->capacity())
            refuse("input '" + tensor_at(g, past).name +
                   "' is not appended to in place, allowed: pasts of an operator of attention, read by it "
                   "alone");
        presents.push_back(*found);
        takes_last_columns = takes_last_columns || where.appending(past, *found)->takes_last_columns();
    }
    if (d.before && d.readers_of_before != static_cast<std::ptrdiff_t>(d.pasts.size() / 2))
        refuse("past_sequence_length is read " + std::to_string(d.readers_of_before) +
               " times, allowed: by each " + "operator that appends, and by nothing else");
    const tensor &y = tensor_at(g, outputs_of(g)[d.logits]);
    need_rank(y, 3, data_type::f32);
    rows_of_logits = y.dims[1];
    if (g.outputs.size() != presents.size() + 1 || y.dims[0] != batch ||
        (rows_of_logits != 1 && rows_of_logits != rows))
        refuse("the outputs are " + std::to_string(g.outputs.size()) + ", logits " + to_text(y.dims) +
               ", allowed: logits of each token or of the last, and what each past becomes");
}

std::int32_t *decoder_runs::place::elements(tensor_id t) const {
    return static_cast<std::int32_t *>(where.get_memory(t).get_data_handle());
}

decoder_runs::decoder_runs(graph g, const decoder_options &options)
    : of_(std::make_shared<const description>(std::move(g), options)) {}

std::unique_ptr<sequence_memory> decoder_runs::new_sequence() const {
    return std::make_unique<sequence_memory>(of_->layout);
}

/// Most operators give a past and the new rows behind it, some a past that had room for them.
decoder_runs::place &decoder_runs::make(dim_t batch, dim_t rows) {
    const dim_t capacity = of_->layout->capacity();
    const auto with_past = [&](dim_t past) -> place & {
        return places_.try_emplace({batch, rows}, *of_, batch, rows, past).first->second;
    };
    if (pasts_have_room_)
        return with_past(capacity);
    try {
        return with_past(capacity - rows);
    } catch (const error &) {
        if (!places_.empty()) // they have the other form
            throw;
        try {
            place &made = with_past(capacity);
            pasts_have_room_ = true;
            return made;
        } catch (const error &) { // the first one tells more
        }
        throw;
    }
}

decoder_runs::place &decoder_runs::at(dim_t batch, dim_t rows) {
    const auto found = places_.find({batch, rows});
    if (found != places_.end())
        return found->second;
    place &made = make(batch, rows);
    if (made.takes_last_columns && !pasts_have_room_ && !of_->is_checked)
        check_positions(made);
    return made;
}

bool decoder_runs::has_chunk(dim_t rows) {
    if (rows >= of_->layout->capacity() || refused_.count(rows) != 0)
        return false;
    try {
        at(1, rows);
    } catch (const error &e) {
        if (e.status != status::unimplemented)
            throw;
        refused_.insert(rows);
        return false;
    }
    return true;
}

/// Behind the last of some tokens, from a network that gets all of them and no past.
std::vector<float> decoder_runs::logits_at_once(const std::vector<std::int32_t> &tokens) const {
    const auto count = static_cast<dim_t>(tokens.size());
    context all(of_->network->at(of_->sizes(1, count, count, 0)));
    const auto fill = [&](tensor_id t, const auto &number_of) {
        for (dim_t i = 0; t && i < element_count(tensor_at(all.get_graph(), t).dims); i++)
            static_cast<std::int32_t *>(all.get_memory(t).get_data_handle())[i] = number_of(i);
    };
    fill(of_->tokens, [&](dim_t i) { return tokens[static_cast<std::size_t>(i)]; });
    fill(of_->mask, [](dim_t) { return 1; });
    fill(of_->positions, [](dim_t i) { return static_cast<std::int32_t>(i); });
    fill(of_->all, [&](dim_t) { return static_cast<std::int32_t>(count); });
    fill(of_->before, [](dim_t) { return 0; });
    const tensor_ids outputs = outputs_of(all.get_graph());
    std::vector<std::vector<std::uint8_t>> presents; // which are lent
    for (std::size_t o = 0; o < outputs.size(); o++)
        if (o != of_->logits) {
            presents.emplace_back(dense_desc(tensor_at(all.get_graph(), outputs[o])).get_size());
            all.bind_sequences(outputs[o], outputs[o], {{presents.back().data(), 0}});
        }
    all.run({});
    const memory y = all.get_memory(outputs[of_->logits]);
    const auto *const end =
        static_cast<const float *>(y.get_data_handle()) + y.get_desc().get_size() / sizeof(float);
    return {end - y.get_desc().dims().back(), end};
}

/// A network may take the number of rows of a past for the number of tokens.
void decoder_runs::check_positions(const place &made) {
    of_->is_checked = true;
    const tensor &y = tensor_at(made.where.get_graph(), outputs_of(made.where.get_graph())[of_->logits]);
    std::vector<std::vector<std::int32_t>> parts = {{0}, {1}, {2, 1, 0}};
    std::vector<std::int32_t> all;
    sequence_memory text(of_->layout);
    std::vector<float> logits;
    for (std::vector<std::int32_t> &part : parts) {
        for (std::int32_t &token : part)
            token = static_cast<std::int32_t>(std::min<dim_t>(token, y.dims.back() - 1));
        all.insert(all.end(), part.begin(), part.end());
        logits = run({{&text, &part, false}}).front();
    }
    const std::vector<float> expected = logits_at_once(all);
    if (std::memcmp(logits.data(), expected.data(), expected.size() * sizeof(float)) == 0)
        return;
    of_->is_checked = false;
    places_.clear();
    refuse("logits depend on how many rows the pasts have, not on those that attention_mask counts alone, "
           "allowed: positions from position_ids, or from attention_mask");
}

// ---- Running

struct decoder_runs::progress {
    sequence_memory *of;
    const std::int32_t *tokens;
    dim_t count, done, size; ///< of tokens, those that have run, and tokens of the sequence
    bool wants_all;
    std::vector<float> logits = {};

    dim_t left() const { return count - done; }
};

/// Tokens for which the next plan is: perhaps more than are left, if there is room for them.
dim_t decoder_runs::next_rows(const progress &p) {
    for (const dim_t rows : chunks)
        if (rows <= p.left() && has_chunk(rows))
            return rows;
    const bool fits = p.left() > 1 && p.size + least_chunk <= of_->layout->capacity();
    return fits && has_chunk(least_chunk) && at(1, least_chunk).rows_of_logits == least_chunk ? least_chunk
                                                                                              : 1;
}

sequence_memory &decoder_runs::idle(std::size_t i) {
    while (idle_.size() <= i)
        idle_.push_back(new_sequence());
    return *idle_[i];
}

void decoder_runs::run(const std::vector<progress *> &together, dim_t batch, dim_t rows) {
    place &p = at(batch, rows);
    const dim_t capacity = of_->layout->capacity();
    std::vector<sequence_memory *> memories;
    for (dim_t b = 0; b < batch; b++) {
        const auto place_of = static_cast<std::size_t>(b);
        const progress *const one = place_of < together.size() ? together[place_of] : nullptr;
        memories.push_back(one ? one->of : &idle(place_of - together.size()));
        const dim_t size = one ? one->size : 0, given = one ? std::min(rows, one->left()) : 0;
        std::int32_t *const tokens = p.elements(of_->tokens) + b * rows;
        std::fill(std::copy_n(one ? one->tokens + one->done : tokens, given, tokens), tokens + rows, 0);
        std::int32_t *const mask = p.elements(of_->mask) + b * capacity;
        const dim_t first = p.takes_last_columns ? capacity - size - rows : 0;
        std::fill(std::fill_n(std::fill_n(mask, first, 0), size + rows, 1), mask + capacity, 0);
        for (dim_t r = 0; of_->positions && r < rows; r++)
            p.elements(of_->positions)[b * rows + r] = static_cast<std::int32_t>(size + r);
    }
    if (of_->all)
        *p.elements(of_->all) = static_cast<std::int32_t>(capacity);
    if (of_->before) // each sequence tells its own
        *p.elements(of_->before) = static_cast<std::int32_t>(together.front()->size);
    for (std::size_t i = 0; i < of_->pasts.size(); i++) {
        std::vector<sequence_place> sequences;
        for (std::size_t b = 0; b < memories.size(); b++)
            sequences.push_back({memories[b]->cache(i), b < together.size() ? together[b]->size : 0});
        p.where.bind_sequences(of_->pasts[i], p.presents[i], sequences);
    }
    p.where.run({});
    const memory y = p.where.get_memory(outputs_of(p.where.get_graph())[of_->logits]);
    const dim_t width = y.get_desc().dims().back();
    const float *row = static_cast<const float *>(y.get_data_handle());
    for (progress *one : together) {
        const dim_t given = std::min(rows, one->left());
        one->done += given;
        one->size += given;
        const dim_t last = std::min(given, p.rows_of_logits);
        const dim_t first = one->wants_all ? 0 : last - 1;
        if (one->wants_all || one->left() == 0)
            one->logits.insert(one->logits.end(), row + first * width, row + last * width);
        row += p.rows_of_logits * width;
    }
}

std::vector<std::vector<float>> decoder_runs::run(const std::vector<turn> &turns) {
    std::set<const sequence_memory *> seen;
    std::vector<progress> all;
    for (std::size_t i = 0; i < turns.size(); i++) {
        const turn &t = turns[i];
        const std::string who = "turn " + std::to_string(i) + ": ";
        if (!t.of || t.of->layout() != of_->layout)
            refuse(who + "its sequence is none of this decoder's");
        if (!seen.insert(t.of).second)
            refuse(who + "its sequence has another turn, allowed is one each");
        const auto count = static_cast<dim_t>(t.tokens->size()),
                   room = of_->layout->capacity() - t.of->size();
        if (count < 1 || count > room)
            refuse(who + std::to_string(count) + " tokens are given for a sequence of " +
                   std::to_string(t.of->size()) + ", allowed: 1 to " + std::to_string(room));
        all.push_back({t.of, t.tokens->data(), count, 0, t.of->size(), t.wants_all});
    }
    const num_threads_scope threads(of_->network->options().threads);
    const parallel_phase phase;
    std::vector<progress *> single;
    for (progress &p : all) {
        while (p.left() > 1) {
            const dim_t rows = next_rows(p);
            if (p.wants_all && at(1, rows).rows_of_logits != rows)
                refuse("logits behind each token are asked for, the network has those of the last one");
            run({&p}, 1, rows);
        }
        if (p.left() == 1)
            single.push_back(&p);
    }
    for (std::size_t i = 0; i < single.size();) {
        const auto count = std::min<std::size_t>(single.size() - i, most_together);
        dim_t batch = 1;
        while (batch < static_cast<dim_t>(count))
            batch *= 2;
        const auto first = single.begin() + static_cast<std::ptrdiff_t>(i);
        run({first, first + static_cast<std::ptrdiff_t>(count)}, batch, 1);
        i += count;
    }
    std::vector<std::vector<float>> logits;
    for (progress &p : all) {
        p.of->append(p.count);
        logits.push_back(std::move(p.logits));
    }
    return logits;
}

} // namespace octet::model
