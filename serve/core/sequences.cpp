// A step runs without the lock, while its sequences are marked; who cancels one of them then leaves a mark, too.
// SPDX-License-Identifier: Apache-2.0
#include "core/sequences.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/usable_memory.hpp"

namespace octet::serve {
namespace {

bool has_past(const model::graph &g) {
    std::set<std::string> names;
    bool has_caches = false;
    for (const int t : g.inputs) {
        const model::tensor &input = g.tensors[static_cast<std::size_t>(t)];
        names.insert(input.name);
        has_caches = has_caches || input.dims.size() == 4;
    }
    return has_caches && names.count("input_ids") != 0 && names.count("attention_mask") != 0;
}

std::vector<std::int32_t> tokens_of(const job &j) {
    std::vector<std::int32_t> tokens(j.inputs[0].size / sizeof(std::int32_t));
    if (!tokens.empty())
        std::memcpy(tokens.data(), j.inputs[0].data, j.inputs[0].size);
    return tokens;
}

void refuse_job(job &j, outcome why, const std::string &sentence) {
    j.result = why;
    j.sentence = sentence;
}

} // namespace

std::unique_ptr<served_sequences> served_sequences::make(const model::graph &g, const model_config &config,
                                                         const network_options &options) {
    if (!options.rows_alike || !options.shapes.empty() || !options.dimensions.empty() || !has_past(g))
        return nullptr;
    decoder_options of_decoder;
    of_decoder.network = options;
    of_decoder.capacity = config.sequences.most_tokens;
    sequence_options limits = config.sequences;
    if (limits.most_bytes == 0)
        limits.most_bytes = usable_memory() / 4;
    try {
        std::unique_ptr<served_sequences> made(new served_sequences(decoder(g, of_decoder), limits));
        made->warm();
        return made;
    } catch (const error &e) {
        if (e.status == status::invalid_arguments) // of another form
            return nullptr;
        throw;
    }
}

served_sequences::served_sequences(decoder d, const sequence_options &options)
    : decoder_(std::move(d)), options_(options) {}

/// Plans for one sequence and for several, until that takes too long; others are made when they are needed.
void served_sequences::warm() {
    constexpr double most_seconds = 2;
    const auto begin = clock::now();
    const auto took = [&] { return std::chrono::duration<double>(clock::now() - begin).count(); };
    std::vector<sequence> several;
    std::vector<decoder::turn> turns;
    for (std::size_t count = 1; count <= std::min<std::size_t>(options_.most, 16); count *= 2) {
        while (several.size() < count)
            several.push_back(decoder_.new_sequence());
        turns.clear();
        for (sequence &s : several)
            turns.push_back({&s, {0}});
        const std::vector<std::vector<float>> logits = decoder_.run(turns);
        vocabulary_ = static_cast<std::int64_t>(logits[0].size());
        if (count == 1) {
            const double before = took();
            decoder_.run(turns);
            seconds_per_step_ = took() - before;
            several[0].truncate(0);
            decoder_.run(several[0], {0, 0});
        }
        for (sequence &s : several)
            s.truncate(0);
        if (took() > most_seconds)
            break;
    }
}

void served_sequences::check(const job &j, const memory::dims &tokens) const {
    if (j.sequence.id < 1)
        throw refusal(outcome::invalid, "parameter 'sequence_id' is " + std::to_string(j.sequence.id) +
                                            ", allowed are whole numbers from 1: the model has a past");
    const bool may_be_empty = j.sequence.ends && !j.sequence.starts;
    if (tokens.size() != 2 || tokens[0] != 1 || tokens[1] < (may_be_empty ? 0 : 1) ||
        tokens[1] > options_.most_tokens)
        throw refusal(outcome::invalid, "input 'input_ids' has shape " + shown(model::to_text(tokens)) +
                                            ", allowed are 1x" + (may_be_empty ? "0" : "1") + " to 1x" +
                                            std::to_string(options_.most_tokens));
    if (j.wants_profile)
        throw refusal(outcome::invalid, "parameter 'profile': a model with a past has none");
}

served_sequences::entry &served_sequences::entry_for(const job &j) {
    const auto now = clock::now();
    for (auto e = entries_.begin(); e != entries_.end();)
        e = !e->second.is_running && now - e->second.used > options_.idle ? entries_.erase(e) : std::next(e);
    const std::string who = "sequence " + std::to_string(j.sequence.id);
    if (j.sequence.starts)
        entries_.erase(j.sequence.id);
    auto found = entries_.find(j.sequence.id);
    if (!j.sequence.starts && found == entries_.end())
        throw refusal(outcome::invalid,
                      who + " is not open: its first request has 'sequence_start', and it ends "
                            "with 'sequence_end', when its client leaves, or when nothing is "
                            "asked for longer than the server waits");
    if (j.sequence.starts && entries_.size() >= options_.most)
        throw refusal(outcome::overloaded, std::to_string(entries_.size()) + " sequences are open already");
    const auto count = static_cast<dim_t>(j.inputs[0].size / sizeof(std::int32_t));
    const dim_t size = found == entries_.end() ? 0 : found->second.tokens.size();
    if (size + count > options_.most_tokens)
        throw refusal(outcome::invalid, who + " would have " + std::to_string(size + count) +
                                            " tokens, allowed are " + std::to_string(options_.most_tokens));
    std::size_t bytes = decoder_.bytes_of(size + count);
    for (const auto &[id, other] : entries_)
        bytes += id == j.sequence.id ? 0 : other.bytes;
    if (bytes > options_.most_bytes)
        throw refusal(outcome::overloaded, "keys and values of all sequences would take " +
                                               std::to_string(bytes) + " bytes, allowed are " +
                                               std::to_string(options_.most_bytes));
    if (found == entries_.end())
        found = entries_.emplace(j.sequence.id, entry{decoder_.new_sequence(), now}).first;
    found->second.bytes = decoder_.bytes_of(size + count);
    return found->second;
}

void served_sequences::answer(job &j, const std::vector<float> &logits, std::int64_t width) {
    const std::size_t bytes = logits.size() * sizeof(float);
    j.storage.resize(bytes);
    if (bytes > 0)
        std::memcpy(j.storage.data(), logits.data(), bytes);
    for (std::size_t i = 0; i < j.wanted.size(); i++) {
        j.outputs.push_back({j.storage.data(), bytes});
        j.output_dims.push_back({1, static_cast<std::int64_t>(logits.size()) / width, width});
    }
}

/// A turn that fails has changed no sequence, so each of them can have a run of its own.
void served_sequences::run_turns(const jobs &round, std::vector<decoder::turn> &turns) {
    const auto run = [&](std::size_t first, std::size_t count) {
        std::vector<decoder::turn> some;
        for (std::size_t i = first; i < first + count; i++)
            if (!turns[i].tokens.empty())
                some.push_back(turns[i]);
        const std::vector<std::vector<float>> logits =
            some.empty() ? std::vector<std::vector<float>>() : decoder_.run(some);
        for (std::size_t i = first, at = 0; i < first + count; i++)
            answer(*round[i], turns[i].tokens.empty() ? std::vector<float>() : logits[at++], vocabulary_);
    };
    try {
        run(0, turns.size());
    } catch (const error &) {
        for (std::size_t i = 0; i < turns.size(); i++)
            try {
                run(i, 1);
            } catch (const error &e) {
                refuse_job(*round[i],
                           e.status == status::out_of_memory ? outcome::overloaded : outcome::invalid,
                           e.what());
            }
    }
}

/// Jobs of different sequences.
void served_sequences::run_round(const jobs &round) {
    jobs running;
    std::vector<decoder::turn> turns;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto &j : round)
            try {
                if (j->reply_held && j->inputs[0].size > 0 &&
                    !j->reply_held->grow(static_cast<std::size_t>(vocabulary_) * sizeof(float)))
                    throw refusal(outcome::overloaded, "replies fill the memory for requests");
                entry &e = entry_for(*j);
                e.is_running = true;
                turns.push_back({&e.tokens, tokens_of(*j)});
                running.push_back(j);
            } catch (const refusal &r) {
                refuse_job(*j, r.why, r.what());
            } catch (const error &e) {
                refuse_job(*j, outcome::overloaded, e.what());
            }
    }
    const auto finish = [&] {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto &j : running) {
            const auto e = entries_.find(j->sequence.id);
            const bool has_failed = j->result != outcome::ok;
            if (e->second.is_over || (has_failed ? j->sequence.starts : j->sequence.ends)) {
                entries_.erase(e);
                continue;
            }
            e->second.is_running = false;
            e->second.bytes = e->second.tokens.bytes();
            e->second.used = clock::now();
        }
    };
    try {
        run_turns(running, turns);
    } catch (...) {
        finish();
        throw;
    }
    finish();
}

void served_sequences::run(const jobs &batch) {
    for (const auto &j : batch)
        j->batch = static_cast<std::int64_t>(batch.size());
    for (jobs left = batch; !left.empty();) {
        jobs round, later;
        std::set<std::int64_t> seen;
        for (const auto &j : left)
            (seen.insert(j->sequence.id).second ? round : later).push_back(j);
        run_round(round);
        left = std::move(later);
    }
}

void served_sequences::cancel(std::int64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end())
        return;
    if (found->second.is_running)
        found->second.is_over = true;
    else
        entries_.erase(found);
}

std::size_t served_sequences::bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t all = 0;
    for (const auto &[id, e] : entries_)
        all += e.bytes;
    return all;
}

} // namespace octet::serve
