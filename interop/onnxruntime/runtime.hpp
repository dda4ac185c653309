#pragma once // SPDX-License-Identifier: Apache-2.0

// The ONNX Runtime that loaded this library: its functions by their slots, failures as octet::error one way
// and as a status the other way.

#include <string>
#include <utility>
#include <vector>

#include "octet/error.hpp"
#include "onnxruntime/slots.hpp"

namespace octet::onnxruntime {

class runtime {
public:
    /// Takes the tables. Throws octet::error for a runtime that is too old or whose tables lack a function.
    explicit runtime(const ort_api_base &base);

    /// Calls a function of the main table; throws octet::error with its words where it fails.
    template <std::size_t I, typename F, typename... Arguments>
    auto operator()(slot<I, F> which, Arguments... arguments) const {
        return call(api_, which, arguments...);
    }
    /// Calls a function of the plugins' table.
    template <std::size_t I, typename F, typename... Arguments>
    auto ep(slot<I, F> which, Arguments... arguments) const {
        return call(ep_api_, which, arguments...);
    }
    /// Calls a function of the table that makes graphs.
    template <std::size_t I, typename F, typename... Arguments>
    auto editor(slot<I, F> which, Arguments... arguments) const {
        if (!editor_api_ || !editor_api_[I])
            throw error(status::unimplemented,
                        "this ONNX Runtime makes no nodes, which compiled models need");
        return call(editor_api_, which, arguments...);
    }

    /// Returns the array of a pair of functions, of which one tells a count and the other fills an array.
    template <typename Count, typename Items, typename Of>
    auto list(Count count, Items items, const Of *of) const {
        std::size_t size = 0;
        (*this)(count, of, &size);
        std::vector<item_of<typename Items::function>> found(size);
        if (size != 0)
            (*this)(items, of, found.data(), size);
        return found;
    }
    /// The text that a function gives of an object.
    template <typename Slot, typename Of> std::string text(Slot which, const Of *of) const {
        const char *given = nullptr;
        (*this)(which, of, &given);
        return given ? given : "";
    }
    template <typename Slot, typename Of> bool flag(Slot which, const Of *of) const {
        bool given = false;
        (*this)(which, of, &given);
        return given;
    }

    const std::string &version() const { return version_; } ///< "1.30.0"
    /// Whether a shape without dimensions is a number's. Version 1.23 cannot tell it from one that is not known.
    bool is_of_number(const ort_shape_info *shape) const;

    /// Does what must not throw: returns null or a status that ONNX Runtime releases.
    template <typename Work> ort_status *guarded(const Work &work) const noexcept {
        try {
            work();
            return nullptr;
        } catch (const error &e) {
            return failed(e.status == status::invalid_arguments ? code::invalid_argument
                          : e.status == status::unimplemented   ? code::not_implemented
                                                                : code::provider_failed,
                          e.what());
        } catch (const std::exception &e) {
            return failed(code::provider_failed, e.what());
        } catch (...) {
            return failed(code::provider_failed, "unknown failure");
        }
    }
    ort_status *failed(int code, const char *text) const noexcept;

    void warn(const ort_logger *logger, const std::string &message) const noexcept;

private:
    template <typename F> struct item;
    template <typename Of, typename Item> struct item<ort_status *(*)(const Of *, Item *, std::size_t)> {
        using type = Item;
    };
    template <typename F> using item_of = typename item<F>::type;

    template <typename Slot, typename... Arguments>
    auto call(const void *const *table, Slot, Arguments... arguments) const {
        const auto function =
            reinterpret_cast<typename Slot::function>(const_cast<void *>(table[Slot::index]));
        if constexpr (Slot::can_fail)
            check(function(arguments...));
        else
            return function(arguments...);
    }
    void check(ort_status *status) const;

    std::string version_;
    bool tells_shapes_ = false;
    const void *const *api_ = nullptr;
    const void *const *ep_api_ = nullptr;
    const void *const *editor_api_ = nullptr; ///< compiled models alone need it
};

/// Sentences of refusals.
[[noreturn]] inline void refuse(const std::string &reason) { throw error(status::invalid_arguments, reason); }

} // namespace octet::onnxruntime
