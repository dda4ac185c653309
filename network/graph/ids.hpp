#pragma once // SPDX-License-Identifier: Apache-2.0

// Places of tensors and nodes in the lists of a graph. Graphs have them as int, with -1 for none, so that
// programs can write them down; code of the library gives each its type when it reads a graph: a node is
// never taken for a tensor, none never for an index, and no number is compared with 0.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include "octet/graph.hpp"

namespace octet::model {

/// Throws std::out_of_range, as for a place behind the last one: who lowers a node says which.
[[noreturn]] void report_none_used();

/// The place of an element in a list, or none.
template <typename Element> class id {
    static constexpr bool stands_in_graphs = std::is_same_v<Element, tensor>;

public:
    constexpr id() = default; ///< none
    /// None for a number below 0.
    template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int>>>
    constexpr explicit id(Int number) : number_(static_cast<int>(number)) {
        if (number_ < 0)
            number_ = -1;
    }

    constexpr explicit operator bool() const { return number_ >= 0; } ///< whether there is one
    constexpr bool has_value() const { return number_ >= 0; }         ///< the same, where no condition is
    /// Into an array with an entry for each element. Throws for none.
    std::size_t index() const {
        if (number_ < 0)
            report_none_used();
        return static_cast<std::size_t>(number_);
    }
    constexpr int number() const { return number_; } ///< as graphs and messages have it; none: -1

    /// Nodes in graphs list tensors: into those lists they go as they are, and nowhere else.
    template <typename Int, typename = std::enable_if_t<stands_in_graphs && std::is_same_v<Int, int>>>
    constexpr operator Int() const {
        return number_;
    }

    friend constexpr bool operator==(id a, id b) { return a.number_ == b.number_; }
    friend constexpr bool operator!=(id a, id b) { return a.number_ != b.number_; }
    friend constexpr bool operator<(id a, id b) { return a.number_ < b.number_; } ///< none is the first
    friend constexpr bool operator>(id a, id b) { return a.number_ > b.number_; }
    friend constexpr bool operator<=(id a, id b) { return a.number_ <= b.number_; }
    friend bool operator==(id, int) = delete;
    friend bool operator==(int, id) = delete;
    friend bool operator!=(id, int) = delete;
    friend bool operator!=(int, id) = delete;
    friend bool operator<(id, int) = delete;
    friend bool operator>=(id, int) = delete;

private:
    int number_ = -1;
};

using tensor_id = id<tensor>;
using node_id = id<node>;

/// A list of tensors as nodes and graphs have it.
using tensor_numbers = std::vector<int>;

/// Such a list, read as what it is.
class tensor_ids {
public:
    explicit tensor_ids(const tensor_numbers &numbers) : numbers_(&numbers) {}
    explicit tensor_ids(tensor_numbers &&) = delete; ///< it is a view

    class iterator {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = tensor_id;
        using difference_type = std::ptrdiff_t;
        using pointer = const tensor_id *;
        using reference = tensor_id;

        iterator() = default;
        explicit iterator(const int *at) : at_(at) {}
        tensor_id operator*() const { return tensor_id(*at_); }
        tensor_id operator[](std::ptrdiff_t n) const { return tensor_id(at_[n]); }
        iterator &operator++() { return ++at_, *this; }
        iterator operator++(int) { return iterator(at_++); }
        iterator &operator--() { return --at_, *this; }
        iterator operator--(int) { return iterator(at_--); }
        iterator &operator+=(std::ptrdiff_t n) { return at_ += n, *this; }
        friend iterator operator+(iterator i, std::ptrdiff_t n) { return i += n; }
        friend std::ptrdiff_t operator-(iterator a, iterator b) { return a.at_ - b.at_; }
        friend bool operator==(iterator a, iterator b) { return a.at_ == b.at_; }
        friend bool operator!=(iterator a, iterator b) { return a.at_ != b.at_; }
        friend bool operator<(iterator a, iterator b) { return a.at_ < b.at_; }

    private:
        const int *at_ = nullptr;
    };

    iterator begin() const { return iterator(numbers_->data()); }
    iterator end() const { return iterator(numbers_->data() + numbers_->size()); }
    std::size_t size() const { return numbers_->size(); }
    bool empty() const { return numbers_->empty(); }
    /// None behind the end.
    tensor_id operator[](std::size_t i) const { return i < size() ? tensor_id((*numbers_)[i]) : tensor_id(); }

private:
    const tensor_numbers *numbers_;
};

inline tensor_ids inputs_of(const node &n) { return tensor_ids(n.inputs); }
inline tensor_ids outputs_of(const node &n) { return tensor_ids(n.outputs); }
inline tensor_ids inputs_of(const graph &g) { return tensor_ids(g.inputs); }
inline tensor_ids outputs_of(const graph &g) { return tensor_ids(g.outputs); }

/// None where a node has no such input or output.
///@{
inline tensor_id input_of(const node &n, std::size_t i) { return inputs_of(n)[i]; }
inline tensor_id output_of(const node &n, std::size_t i = 0) { return outputs_of(n)[i]; }
///@}

/// The element that stands there. Throw for a place that there is not.
///@{
inline const tensor &tensor_at(const graph &g, tensor_id t) { return g.tensors.at(t.index()); }
inline tensor &tensor_at(graph &g, tensor_id t) { return g.tensors.at(t.index()); }
inline const node &node_at(const graph &g, node_id n) { return g.nodes.at(n.index()); }
inline node &node_at(graph &g, node_id n) { return g.nodes.at(n.index()); }
///@}

/// Changes of such lists.
///@{
inline void replace(tensor_numbers &list, tensor_id from, tensor_id to) {
    std::replace(list.begin(), list.end(), from.number(), to.number());
}
inline void drop_absent_at_end(tensor_numbers &list) {
    while (!list.empty() && !tensor_id(list.back()))
        list.pop_back();
}
///@}

inline bool has(tensor_ids list, tensor_id t) { return std::find(list.begin(), list.end(), t) != list.end(); }

/// Questions about lists of places.
///@{
template <typename List, typename Condition> bool any_of(const List &l, const Condition &holds) {
    return std::any_of(l.begin(), l.end(), holds);
}
template <typename List, typename Condition> bool all_of(const List &l, const Condition &holds) {
    return std::all_of(l.begin(), l.end(), holds);
}
template <typename List, typename Condition> bool none_of(const List &l, const Condition &holds) {
    return std::none_of(l.begin(), l.end(), holds);
}
///@}

/// Appends a tensor to a graph.
tensor_id add_tensor(graph &g, tensor t);

} // namespace octet::model
