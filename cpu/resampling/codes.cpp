// Finds weights that are integers over a power of two; refuses by returning nothing where some weight is not.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/resampling/codes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/resampling.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/resampling/streaming.hpp"
#include "jit/kernels/resampling/codes.hpp"

namespace octet::impl::resampling {

namespace {

constexpr int weight_bits = 10; // for the float rules: weights with more bits are not integers
/// With the 8 bits of a code, the 24 of an f32: sums with more bits are not exact in the float rules.
constexpr int f32_weight_bits = 16;

/// The two source positions that one output position reads along an axis.
struct neighbours {
    dim_t low, high;
    std::int32_t low_weight, high_weight;
};

/// Neighbours along an axis; their weights add up to 1 << bits.
struct integer_axis {
    std::vector<neighbours> at;
    int bits;
};

std::optional<std::int32_t> integer_weight(float weight) {
    const float scaled = weight * (1 << weight_bits);
    if (!(scaled >= 0 && scaled <= 1 << weight_bits) || scaled != std::floor(scaled))
        return std::nullopt;
    return static_cast<std::int32_t>(scaled);
}

bool has_integer_weights(requantization_rule rule) { return is_tflite(rule) || is_xnnpack(rule); }

int bits_of_weights(requantization_rule rule) {
    return has_integer_weights(rule) ? fixed_weight_bits(rule) : weight_bits;
}

std::optional<neighbours> neighbours_of(const resampling_problem &p, int axis, dim_t i) {
    const std::int32_t one = 1 << bits_of_weights(p.out_stage.rule);
    if (has_integer_weights(p.out_stage.rule)) {
        const fixed_interpolation f = interpolate_fixed(p, axis, i);
        if (f.low == f.high) // weights outside [0, 1] before the first element and behind the last
            return neighbours{f.low, f.high, one, 0};
        return neighbours{f.low, f.high, static_cast<std::int32_t>(f.low_weight),
                          static_cast<std::int32_t>(f.high_weight)};
    }
    const interpolation f = interpolate(p, axis, i);
    const auto low = integer_weight(f.low_weight), high = integer_weight(f.high_weight);
    if (!low || !high || *low + *high != one)
        return std::nullopt;
    if (f.low == f.high)
        return neighbours{f.low, f.high, one, 0};
    return neighbours{f.low, f.high, *low, *high};
}

/// With the smallest weights, but `least` bits: fewer bits leave room for 16-bit products, of which a vector has
/// twice as many.
std::optional<integer_axis> integer_axis_of(const resampling_problem &p, int axis, int least) {
    integer_axis result{{}, bits_of_weights(p.out_stage.rule)};
    std::int32_t all = 0;
    for (dim_t i = 0; i < p.out[axis]; i++) {
        const auto n = neighbours_of(p, axis, i);
        if (!n)
            return std::nullopt;
        all |= n->low_weight | n->high_weight;
        result.at.push_back(*n);
    }
    for (; result.bits > least && all % 2 == 0; all /= 2) {
        result.bits--;
        for (neighbours &n : result.at) {
            n.low_weight /= 2;
            n.high_weight /= 2;
        }
    }
    return result;
}

jit::code_rounding rounding_of(requantization_rule rule) {
    return weighs_half_up(rule) ? jit::code_rounding::half_up
           : is_ort(rule)       ? jit::code_rounding::towards_zero
           : is_plain_f32(rule) ? jit::code_rounding::half_even
                                : jit::code_rounding::half_away;
}

class code_driver : public kernel {
public:
    code_driver(const resampling_problem &p, jit::code_resampling_spec spec, const integer_axis &lines,
                const integer_axis &columns)
        : p_(p), lines_(lines.at), chunk_(spec.most_vectors() * spec.vector_bytes()),
          chunks_(div_up(p.channels, chunk_)), prefetches_(is_large(p)) {
        spec.prefetches = prefetches_;
        kernels_ = kernels_of(spec);
        // In parts, a line would be written more than once.
        spec.streams = can_stream(p) && has_whole_lines(chunk_);
        if (spec.streams)
            streaming_ = kernels_of(spec);
        for (const neighbours &n : columns.at)
            add_position(n, spec.has_words());
    }

    void execute(const arguments &args) const override {
        const auto *src = args.get<const std::uint8_t>(OCTET_ARG_SRC) + p_.src.offset0;
        auto *dst = args.get<std::uint8_t>(OCTET_ARG_DST) + p_.dst.offset0;
        const bool streams = streaming_.last && begins_line(dst);
        parallel_for(p_.mb * p_.out[1], 1, [&](dim_t begin, dim_t end) {
            for (dim_t line = begin; line < end; line++)
                run_line(streams ? streaming_ : kernels_, src, line, std::min(line + 1, end - 1), dst);
            if (streams)
                finish_stores();
        });
    }

    std::string plan() const override {
        return text("integer weights, ", chunk_, " channels at a time",
                    streaming_.last ? ", stores past the caches" : "");
    }

    std::size_t size_bytes() const override {
        return sizeof *this + lines_.size() * sizeof lines_[0] + runs_.size() * sizeof runs_[0] +
               weights_.size() * sizeof weights_[0] + kernels_.size_bytes() + streaming_.size_bytes();
    }

private:
    /// Kernels of the last chunk of channels and of the others; null where there are none.
    struct chunk_kernels {
        jit::shared_code<const jit::code_resampling_args> whole, last;

        std::size_t size_bytes() const {
            return (whole ? whole->code_bytes() : 0) + (last ? last->code_bytes() : 0);
        }
    };

    chunk_kernels kernels_of(jit::code_resampling_spec spec) const {
        chunk_kernels kernels;
        const dim_t last = p_.channels - (chunks_ - 1) * chunk_;
        spec.vectors = static_cast<int>(div_up(last, spec.vector_bytes()));
        spec.tail = static_cast<int>(last - (spec.vectors - 1) * spec.vector_bytes());
        kernels.last = jit::code_resampling_code(spec);
        spec.vectors = spec.most_vectors();
        spec.tail = spec.vector_bytes();
        if (chunks_ > 1)
            kernels.whole = jit::code_resampling_code(spec);
        return kernels;
    }

    /// A run is the positions between two columns, whose loads they share. A position at a column needs that
    /// column alone and may end the run before or begin the next: it goes with the run that is there, with
    /// weights 0 and 1, so that runs are few.
    void add_position(neighbours n, bool has_words) {
        const std::int64_t step = p_.src.strides[3];
        std::int64_t low = n.low * step, high = n.high * step;
        if (n.low == n.high && !runs_.empty() && high == runs_.back().high) {
            low = runs_.back().low;
            std::swap(n.low_weight, n.high_weight);
        } else if (n.low == n.high) {
            high = std::min(n.low + 1, p_.in[2] - 1) * step;
        }
        if (runs_.empty() || low != runs_.back().low || high != runs_.back().high)
            runs_.push_back({low, high, !runs_.empty() && low == runs_.back().high, 0});
        runs_.back().positions++;
        const auto bits = [&](std::int32_t w) {
            return static_cast<std::uint32_t>(w) * (has_words ? 0x10001u : 1u);
        };
        weights_.push_back({bits(n.low_weight), bits(n.high_weight)});
    }

    dim_t high_line(dim_t line) const {
        return line / p_.out[1] * p_.src.strides[0] +
               lines_[static_cast<std::size_t>(line % p_.out[1])].high * p_.src.strides[2];
    }

    void run_line(const chunk_kernels &kernels, const std::uint8_t *src, dim_t line, dim_t next,
                  std::uint8_t *dst) const {
        const dim_t n = line / p_.out[1], oh = line % p_.out[1];
        const neighbours &h = lines_[static_cast<std::size_t>(oh)];
        src += n * p_.src.strides[0];
        dst += n * p_.dst.strides[0] + oh * p_.dst.strides[2];
        jit::code_resampling_args a{};
        a.low_weight = static_cast<std::uint32_t>(h.low_weight);
        a.high_weight = static_cast<std::uint32_t>(h.high_weight);
        a.runs = runs_.data();
        a.count = static_cast<std::int64_t>(runs_.size());
        a.weights = weights_.data();
        a.dst_step = p_.dst.strides[3];
        a.to_next_line = prefetches_ ? high_line(next) - high_line(line) : 0;
        for (dim_t c = 0; c < chunks_; c++) {
            a.low_line = src + h.low * p_.src.strides[2] + c * chunk_;
            a.high_line = src + h.high * p_.src.strides[2] + c * chunk_;
            a.dst = dst + c * chunk_;
            (c == chunks_ - 1 ? kernels.last : kernels.whole)->function()(&a);
        }
    }

    const resampling_problem p_;
    const std::vector<neighbours> lines_;
    const dim_t chunk_, chunks_; ///< channels of a chunk, their number
    const bool prefetches_;
    chunk_kernels kernels_, streaming_;
    std::vector<jit::code_run> runs_;
    std::vector<jit::code_weights> weights_; ///< by position
};

} // namespace

std::shared_ptr<const kernel> create_for_codes(const resampling_problem &p, instruction_set isa) {
    const data_type type = p.src.data_type;
    if (p.alg != algorithm::resampling_linear || p.spatial_ndims != 2 || p.dst.data_type != type ||
        (type != data_type::u8 && type != data_type::s8) || !p.out_stage.post_ops.empty())
        return nullptr;
    const auto lines = integer_axis_of(p, 1, 1), columns = integer_axis_of(p, 2, 0);
    if (!lines || !columns)
        return nullptr;
    jit::code_resampling_spec spec;
    spec.isa = isa;
    spec.is_signed = type == data_type::s8;
    spec.rounding = rounding_of(p.out_stage.rule);
    spec.line_bits = lines->bits;
    spec.column_bits = columns->bits;
    if (!has_integer_weights(p.out_stage.rule) && spec.bits() > f32_weight_bits)
        return nullptr;
    return std::make_shared<code_driver>(p, spec, *lines, *columns);
}

} // namespace octet::impl::resampling
