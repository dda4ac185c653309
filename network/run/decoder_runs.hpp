#pragma once // SPDX-License-Identifier: Apache-2.0

// What runs a decoder: contexts whose plans are for so many tokens of so many sequences. Their attention_mask
// is as long as the capacity, and its elements tell how many tokens there are.

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "network/run/context.hpp"
#include "network/run/sequence_memory.hpp"
#include "network/run/shared_network.hpp"
#include "octet/decoder.hpp"

namespace octet::model {

class decoder_runs {
public:
    decoder_runs(graph g, const decoder_options &options);
    /// Another one of the same network.
    explicit decoder_runs(const decoder_runs &other) : of_(other.of_) {}

    std::unique_ptr<sequence_memory> new_sequence() const;

    /// A turn of `decoder`.
    struct turn {
        sequence_memory *of;
        const std::vector<std::int32_t> *tokens;
        bool wants_all;
    };
    std::vector<std::vector<float>> run(const std::vector<turn> &turns);

    const past_layout &layout() const { return *of_->layout; }
    std::size_t weight_bytes() const { return of_->network->weight_bytes(); }

private:
    /// What all contexts share.
    struct description {
        description(graph g, const decoder_options &options);
        network_sizes sizes(dim_t batch, dim_t rows, dim_t columns, dim_t past) const;

        tensor_id tokens, mask;
        tensor_id positions, all, before; ///< perhaps none; the others are numbers
        std::ptrdiff_t readers_of_before = 0;
        std::size_t logits;                                          ///< among the outputs
        std::vector<tensor_id> pasts;                                ///< in the order of the layout's caches
        std::vector<std::pair<std::string, memory::dims>> past_dims; ///< names, and sizes for one sequence
        std::shared_ptr<past_layout> layout;
        std::shared_ptr<shared_network> network;
        mutable std::atomic<bool> is_checked{false}; ///< that logits do not depend on the capacity
    };
    /// For so many tokens of so many sequences.
    struct place {
        /// Throws octet::error where a past does not become `capacity` rows in place.
        place(const description &d, dim_t batch, dim_t rows, dim_t past);
        std::int32_t *elements(tensor_id t) const;

        context where;
        std::vector<tensor_id> presents; ///< as `pasts`
        dim_t rows, rows_of_logits;
        bool takes_last_columns = false; ///< of the mask
    };
    /// A turn that is under way.
    struct progress;

    place &at(dim_t batch, dim_t rows);
    place &make(dim_t batch, dim_t rows);
    bool has_chunk(dim_t rows); ///< false where operators cannot have so many rows
    void check_positions(const place &made);
    std::vector<float> logits_at_once(const std::vector<std::int32_t> &tokens) const;
    dim_t next_rows(const progress &p);
    void run(const std::vector<progress *> &together, dim_t batch, dim_t rows);
    sequence_memory &idle(std::size_t i);

    std::shared_ptr<const description> of_;
    std::map<std::pair<dim_t, dim_t>, place> places_;    ///< by batch and rows
    std::set<dim_t> refused_;                            ///< chunks
    bool pasts_have_room_ = false;                       ///< as many rows as the presents
    std::vector<std::unique_ptr<sequence_memory>> idle_; ///< that fill up a batch
};

} // namespace octet::model
