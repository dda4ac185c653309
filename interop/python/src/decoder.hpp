#pragma once // SPDX-License-Identifier: Apache-2.0

// What octet.Decoder and octet.Sequence are made of. Calls of several threads take turns, without Python's lock.

#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "octet/decoder.hpp"
#include "octet/fork_guard.hpp"

namespace octet::python {

class python_sequence;

class python_decoder : public std::enable_shared_from_this<python_decoder> {
public:
    explicit python_decoder(decoder d) : decoder_(std::move(d)) {}

    std::unique_ptr<python_sequence> new_sequence();

    /// Sequences with the tokens that follow, and whether logits are wanted behind each.
    using turns = std::vector<std::tuple<python_sequence *, py::object, bool>>;
    std::vector<py::array> run(const turns &given);

    std::size_t bytes_of(dim_t tokens) const { return decoder_.bytes_of(tokens); }
    std::size_t weight_bytes();

private:
    friend class python_sequence;

    /// Calls f alone, without Python's lock.
    template <typename F> auto alone(const F &f) {
        const py::gil_scoped_release release;
        const std::lock_guard<std::mutex> lock(mutex_);
        return f();
    }

    decoder decoder_;
    std::mutex mutex_; ///< of the decoder and all its sequences
    const fork_guard at_fork_{mutex_};
};

class python_sequence {
public:
    python_sequence(std::shared_ptr<python_decoder> of, sequence s)
        : of_(std::move(of)), tokens_(std::move(s)) {}

    dim_t size() const;
    dim_t capacity() const { return tokens_.capacity(); }
    std::size_t bytes() const;
    void truncate(dim_t size);
    std::unique_ptr<python_sequence> fork();

private:
    friend class python_decoder;

    const std::shared_ptr<python_decoder> of_;
    sequence tokens_;
};

void bind_decoder(py::module_ &m);

} // namespace octet::python
