#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of all kernels: arguments, a function to call, a name, and a cache.
//
//   struct twice_spec { instruction_set isa; int vectors; };      // everything that decides the code
//   struct twice_args { const float *src; float *dst; };          // what a call is given
//
//   class twice_kernel : public generated<const twice_args> {
//   public:
//       explicit twice_kernel(const twice_spec &spec) : generated(spec.isa), … {
//           preamble();
//           mov(reg_src, arg(&twice_args::src));
//           …
//           finish([&] { return name("twice", text(spec.vectors, "v")); });
//       }
//   };
//
//   shared_kernel<twice_kernel>(twice_spec{isa, 4})->function()(&args);
//
// Spec, arguments and a function that returns the shared code are what others see of a kernel: a header without Xbyak
// of its name. The class stands in the .cpp file beside it, or in a header of generators if several files implement it.
//
// A spec is an aggregate, so that its key has all of its members (key.hpp). Names are for perf and for dumps;
// doc/kernel-names.md has their grammar.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "common/text.hpp"
#include "jit/base/emitter.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/base/key.hpp"
#include "jit/base/record.hpp"
#include "jit/base/shared_kernels.hpp"

namespace octet::impl::jit {

/// Bytes from the start of an object to its member.
template <typename Object, typename Member> int offset_of(Member Object::*member) {
    static const Object object{};
    return static_cast<int>(reinterpret_cast<const char *>(&(object.*member)) -
                            reinterpret_cast<const char *>(&object));
}

/// The base of generators whose code takes Args; a generator is gone when its code is finished.
template <typename Args> class generated : public emitter {
public:
    using code = finished_code<Args>;
    code take_code() { return {std::move(code_), code_bytes()}; }

protected:
    using args_type = std::remove_const_t<Args>;

    explicit generated(instruction_set isa) : emitter(isa) {}

    /// The member of an object that lies at `base`; of an array, one of its elements.
    template <typename Object, typename Member>
    Xbyak::Address field(const Xbyak::RegExp &base, Member Object::*which, int element = 0) {
        constexpr std::size_t size = sizeof(std::remove_extent_t<Member>);
        const int offset = offset_of(which) + element * static_cast<int>(size);
        const bool is_vector = std::is_array_v<Member> && std::is_arithmetic_v<std::remove_extent_t<Member>>;
        return (is_vector ? ptr : size == 8 ? qword : size == 4 ? dword : ptr)[base + offset];
    }
    template <typename Member> Xbyak::Address arg(Member args_type::*which, int element = 0) {
        return field(reg_args, which, element);
    }

    /// The kernel, the level and these parts, without empty ones.
    template <typename... Parts> std::string name(const char *kernel, const Parts &...parts) const {
        std::string name = text(kernel, "-", isa().name());
        const auto append = [&name](const std::string &part) { name += part.empty() ? part : "-" + part; };
        (append(parts), ...);
        return name;
    }
    /// Ends the code. Its name is made only for tools that want it.
    template <typename Name> void finish(const Name &name) {
        code_ = emitter::finish(is_recorded() ? name() : std::string());
    }

private:
    std::shared_ptr<const void> code_;
};

/// The finished code of a generator.
template <typename Kernel> using code_of = typename Kernel::code;

/// The kernel that these parts decide: a spec, and often the plan of an epilogue. All primitives that need the
/// same code share it; it goes with the last of them.
template <typename Kernel, typename... Parts>
std::shared_ptr<const code_of<Kernel>> shared_kernel(const Parts &...parts) {
    const auto make = [&]() -> std::shared_ptr<const void> {
        try {
            return std::make_shared<const code_of<Kernel>>(Kernel(parts...).take_code());
        } catch (const Xbyak::Error &e) {
            throw error(status::runtime_error, text("code generation: ", e.what(),
                                                    "; OCTET_MAX_CPU_ISA=ref needs no executable memory"));
        }
    };
    return std::static_pointer_cast<const code_of<Kernel>>(
        find_or_make_kernel(typeid(Kernel), (key_of(parts) + ...), make));
}

} // namespace octet::impl::jit
