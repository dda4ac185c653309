// The sum in real numbers, its split into integers and fractions, and the comparison of every pair of codes
// with the framework's arithmetic: where one differs there are no tables.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/pair_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "common/element.hpp"
#include "common/scaled_sum.hpp"
#include "common/text.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/stream/nest.hpp"

namespace octet::impl::stream {

namespace {

constexpr int codes = 256;
constexpr int s8_low = -128, s8_high = 127;
constexpr double largest_number = 1024; // bound of a term: larger ones change no result
constexpr double largest_error = 1. / 64;

// ---- what is computed, in real numbers

/// The result before rounding and clamping is x * ratio_x + y * ratio_y + zero_point, but for an error that roundings
/// on the way make; x and y are centred.
struct real_sum {
    double ratio_x, ratio_y, error;
    std::int32_t zero_point_x = 0, zero_point_y = 0, zero_point = 0;
};

bool is_known(const masked_values<std::int32_t> &z) { return !z.runtime && z.mask == 0; }
std::int32_t value_of(const masked_values<std::int32_t> &z) { return z.values.empty() ? 0 : z.values[0]; }

/// Post-ops that clamp a result to an interval: sums stay monotone.
bool only_clamps(const std::vector<post_op_entry> &post_ops) {
    return std::all_of(post_ops.begin(), post_ops.end(), [](const post_op_entry &entry) {
        const auto *op = function_of(entry);
        return limits_of(entry) ||
               (op && op->algorithm == algorithm::eltwise_relu && op->alpha == 0.f && op->scale == 1.f);
    });
}

double real(const fixed_point_multiplier &m) { return std::ldexp(m.multiplier, m.shift - 31); }

std::optional<real_sum> real_sum_of(const binary_problem &p) {
    const epilogue &out = p.out_stage;
    const bool is_sum = p.alg == algorithm::binary_add || p.alg == algorithm::binary_sub;
    const bool is_known_now = is_known(p.zero_points0.values) && is_known(p.zero_points1.values) &&
                              is_known(p.dst_zero_point.values) && is_known(out.dst_zero_points);
    if (!is_sum || !is_known_now || out.output_scales.is_set() || out.dst_scales.is_set() ||
        out.real_scales.is_set() || !only_clamps(out.post_ops))
        return {};
    real_sum s{0,
               0,
               0,
               value_of(p.zero_points0.values),
               value_of(p.zero_points1.values),
               value_of(out.dst_zero_points) + value_of(p.dst_zero_point.values)};
    constexpr double of_floats = 0x1p-10; // some roundings of numbers below 2^12
    switch (p.form) {
    case binary_form::scaled_sum: {
        if (out.multipliers.runtime || out.multipliers.values.size() != 1)
            return {};
        const fixed_point_multiplier &m = out.multipliers.values[0];
        if (p.multiplier0.shift > 0 || p.multiplier1.shift > 0 || m.shift > 0) // might overflow
            return {};
        const double unit = real(m) * (1 << add_left_shift);
        s.ratio_x = real(p.multiplier0) * unit;
        s.ratio_y = real(p.multiplier1) * unit;
        // Each rescaled code is off by less than 1, and so is what is multiplied by m, before its shift.
        s.error = 2 * std::abs(real(m)) + std::ldexp(1., m.shift) + 0x1p-30;
        break;
    }
    case binary_form::qnnpack_sum:
    case binary_form::xnnpack_sum: {
        // Bound of the sum of the multipliers: no sum overflows.
        constexpr std::int64_t most = int32_max / codes;
        if (std::abs(std::int64_t{p.multiplier0.multiplier}) +
                std::abs(std::int64_t{p.multiplier1.multiplier}) >
            most)
            return {};
        s.ratio_x = std::ldexp(p.multiplier0.multiplier, -p.multiplier0.shift);
        s.ratio_y = std::ldexp(p.multiplier1.multiplier, -p.multiplier0.shift);
        s.error = 0x1p-30; // ties alone
        break;
    }
    case binary_form::qlinear_sum:
    case binary_form::dequantized:
        s.ratio_x = double{p.scale0} / p.dst_scale;
        s.ratio_y = double{p.scale1} / p.dst_scale;
        s.error = of_floats;
        break;
    case binary_form::f32:
        if (p.zero_points0.values.is_set() || p.zero_points1.values.is_set() || out.multipliers.is_set())
            return {};
        s.ratio_x = p.scale0;
        s.ratio_y = p.scale1;
        s.error = of_floats;
        break;
    default:
        return {};
    }
    if (p.alg == algorithm::binary_sub)
        s.ratio_y = -s.ratio_y;
    return s;
}

// ---- tables

/// By byte of the source: integers and fractions of terms.
struct terms {
    std::array<int, codes> integer;
    std::array<double, codes> fraction;

    terms(data_type type, double ratio, std::int32_t zero_point, double added) {
        for (int byte = 0; byte < codes; byte++) {
            const int code = type == data_type::s8 ? static_cast<std::int8_t>(byte) : byte;
            const double x = (double{1} * code - zero_point) * ratio + added, whole = std::floor(x);
            integer[static_cast<std::size_t>(byte)] = static_cast<int>(whole);
            fraction[static_cast<std::size_t>(byte)] = x - whole;
        }
    }

    /// The codes of the lowest and the highest term.
    std::pair<std::uint8_t, std::uint8_t> extremes() const {
        std::uint8_t low = 0, high = 0;
        for (int byte = 1; byte < codes; byte++) {
            const auto i = static_cast<std::uint8_t>(byte);
            if (is_below(i, low))
                low = i;
            if (is_below(high, i))
                high = i;
        }
        return {low, high};
    }

private:
    bool is_below(std::uint8_t a, std::uint8_t b) const {
        return std::make_pair(integer[a], fraction[a]) < std::make_pair(integer[b], fraction[b]);
    }
};

using pair_of_bytes = std::pair<std::uint8_t, std::uint8_t>;

/// The carries of two terms.
class carries {
public:
    carries(const terms &x, const terms &y) : x_(x) {
        for (std::size_t byte = 0; byte < codes; byte++)
            sorted_[byte] = {y.fraction[byte], static_cast<std::uint8_t>(byte)};
        std::sort(sorted_.begin(), sorted_.end());
    }

    /// How many fractions are lower.
    std::size_t rank(double fraction) const {
        return static_cast<std::size_t>(from(fraction) - sorted_.begin());
    }
    std::size_t carry_from(std::size_t x) const { return rank(1 - x_.fraction[x]); }

    /// All pairs whose sum is nearer to an integer than `error`.
    std::vector<pair_of_bytes> uncertain(double error) const {
        std::vector<pair_of_bytes> pairs;
        for (std::size_t x = 0; x < codes; x++)
            for (const int sum : {0, 1, 2})
                for (auto y = from(sum - x_.fraction[x] - error);
                     y != sorted_.end() && y->first <= sum - x_.fraction[x] + error; ++y)
                    pairs.emplace_back(static_cast<std::uint8_t>(x), y->second);
        return pairs;
    }

private:
    using entry = std::pair<double, std::uint8_t>;
    std::array<entry, codes>::const_iterator from(double fraction) const {
        return std::lower_bound(sorted_.begin(), sorted_.end(), entry{fraction, 0});
    }
    const terms &x_;
    std::array<entry, codes> sorted_;
};

/// A number to be moved from the integers of x to those of y, so that all of them have their bits; `has_first` if
/// those of x then take two.
struct split {
    int moved;
    bool has_first;
};
std::optional<split> split_integers(const std::array<int, codes> &x, const std::array<int, codes> &y) {
    const auto [x_low, x_high] = std::minmax_element(x.begin(), x.end());
    const auto [y_low, y_high] = std::minmax_element(y.begin(), y.end());
    for (const bool has_first : {false, true}) {
        const int low = has_first ? 2 * s8_low : s8_low, high = (has_first ? 2 : 1) * s8_high - 1;
        const int least = std::max(*x_high - high, s8_low - *y_low);
        if (least <= std::min(*x_low - low, s8_high - *y_high))
            return split{least, has_first};
    }
    return {};
}

std::optional<code_pairs> tables_of(const terms &x, const terms &y) {
    const carries c(x, y);
    code_pairs result{};
    std::array<int, codes> of_x = x.integer;
    for (std::size_t i = 0; i < codes; i++) {
        const std::size_t from = c.carry_from(i);
        const bool never = from == codes; // as always, from one less
        of_x[i] -= never;
        result.tables.carry_from[i] = static_cast<std::uint8_t>(never ? 0 : from);
        result.tables.rank[i] = static_cast<std::uint8_t>(c.rank(y.fraction[i]));
    }
    const auto parts = split_integers(of_x, y.integer);
    if (!parts)
        return {};
    result.has_first = parts->has_first;
    for (std::size_t i = 0; i < codes; i++) {
        const int whole =
            of_x[i] - parts->moved; // halves of one sign; the second one leaves room for a carry
        const int first = !parts->has_first ? 0 : whole < 0 ? whole / 2 : (whole + 1) / 2;
        result.tables.first[i] = static_cast<std::uint8_t>(first);
        result.tables.second[i] = static_cast<std::uint8_t>(whole - first);
        result.tables.rest[i] = static_cast<std::uint8_t>(y.integer[i] + parts->moved);
    }
    return result;
}

// ---- comparison with the framework's arithmetic

/// The result that generated code computes, less 128 where dst is unsigned.
int result_of(const code_pairs &s, pair_of_bytes pair) {
    const auto [x, y] = pair;
    const auto s8 = [](std::uint8_t byte) { return int{static_cast<std::int8_t>(byte)}; };
    const int carry = s.tables.rank[y] >= s.tables.carry_from[x] ? 1 : 0;
    const int sum = s8(s.tables.rest[y]) + s8(s.tables.first[x]) + s8(s.tables.second[x]) + carry;
    return std::clamp(sum, int{s.low}, int{s.high});
}

memory_desc vector_of(std::size_t count, data_type type) {
    return memory::desc({static_cast<dim_t>(count)}, type, format_tag::a).data;
}

/// The reference's results, less 128 where dst is unsigned.
std::vector<int> expected(binary_problem p, const std::vector<pair_of_bytes> &pairs, bool swaps) {
    p.src0 = vector_of(pairs.size(), p.src0.data_type);
    p.src1 = vector_of(pairs.size(), p.src1.data_type);
    p.dst = p.out_stage.dst = vector_of(pairs.size(), p.dst.data_type);
    std::vector<std::uint8_t> x, y, dst(pairs.size());
    for (const pair_of_bytes &pair : pairs) {
        x.push_back(pair.first);
        y.push_back(pair.second);
    }
    const engine cpu(engine::kind::cpu, 0);
    const auto tensor = [&](const memory_desc &md, std::vector<std::uint8_t> &bytes) {
        return memory(memory::desc(md), cpu, bytes.data());
    };
    const std::unordered_map<int, memory> args{{OCTET_ARG_SRC_0, tensor(p.src0, swaps ? y : x)},
                                               {OCTET_ARG_SRC_1, tensor(p.src1, swaps ? x : y)},
                                               {OCTET_ARG_DST, tensor(p.dst, dst)}};
    ref::create(p)->execute(arguments(args));
    std::vector<int> results;
    for (const std::uint8_t byte : dst)
        results.push_back(p.dst.data_type == data_type::u8 ? byte - 128 : static_cast<std::int8_t>(byte));
    return results;
}

} // namespace

/// The arithmetic is real_sum's, rounded, but for pairs within its error of a tie. Those are compared with the
/// reference one by one; so are the least and the greatest sum, which show what results are clamped to.
std::optional<code_pairs> make_code_pairs(const binary_problem &p) {
    if (!is_code(p.src0.data_type) || !is_code(p.src1.data_type) || !is_code(p.dst.data_type))
        return {};
    const auto sum = real_sum_of(p);
    if (!sum || !(sum->error < largest_error))
        return {};
    for (const double ratio : {sum->ratio_x, sum->ratio_y})
        if (!(std::abs(ratio) * codes * 2 < largest_number))
            return {};
    for (const std::int32_t z : {sum->zero_point_x, sum->zero_point_y, sum->zero_point})
        if (z < s8_low || z >= codes)
            return {};
    const int centre = p.dst.data_type == data_type::u8 ? 128 : 0;
    const terms of0(p.src0.data_type, sum->ratio_x, sum->zero_point_x, 0.5),
        of1(p.src1.data_type, sum->ratio_y, sum->zero_point_y, sum->zero_point - centre);
    for (const bool swaps : {false, true}) {
        const terms &x = swaps ? of1 : of0, &y = swaps ? of0 : of1;
        auto result = tables_of(x, y);
        if (!result)
            continue;
        result->swaps = swaps;
        result->low = s8_low;
        result->high = s8_high;
        const auto [x_low, x_high] = x.extremes();
        const auto [y_low, y_high] = y.extremes();
        std::vector<pair_of_bytes> pairs = carries(x, y).uncertain(sum->error);
        pairs.emplace_back(x_low, y_low);
        pairs.emplace_back(x_high, y_high);
        const std::vector<int> results = expected(p, pairs, swaps);
        const int least = results[pairs.size() - 2], greatest = results[pairs.size() - 1];
        if (least > result_of(*result, pairs[pairs.size() - 2]))
            result->low = static_cast<std::int8_t>(least);
        if (greatest < result_of(*result, pairs.back()))
            result->high = static_cast<std::int8_t>(greatest);
        for (std::size_t i = 0; i < pairs.size(); i++)
            if (result_of(*result, pairs[i]) != results[i])
                return {};
        return result;
    }
    return {};
}

namespace {

// Rows are cut here: loading the tables costs as much as a few vectors.
constexpr dim_t bytes_per_piece = 16384;

class pair_kernel : public kernel {
public:
    pair_kernel(instruction_set isa, const binary_problem &p, const code_pairs &pairs)
        : src0_offset_(p.src0.offset0), src1_offset_(p.src1.offset0), dst_offset_(p.dst.offset0),
          nest_(nest_of(p)), tables_(pairs.tables), swaps_(pairs.swaps), regular_(make(isa, p, pairs, false)),
          nontemporal_(leaves_caches(size_in_bytes(p.src0) + size_in_bytes(p.src1) + size_in_bytes(p.dst))
                           ? make(isa, p, pairs, true)
                           : nullptr) {}

    /// Loops over dst, src0 and src1.
    static nest nest_of(const binary_problem &p) {
        return make_nest(p.dst, {strides_of(p.dst), strides_of(p.src0), strides_of(p.src1)});
    }

    void execute(const arguments &args) const override {
        const auto *src0 = args.get<const std::uint8_t>(OCTET_ARG_SRC_0) + src0_offset_;
        const auto *src1 = args.get<const std::uint8_t>(OCTET_ARG_SRC_1) + src1_offset_;
        auto *dst = args.get<std::uint8_t>(OCTET_ARG_DST) + dst_offset_;
        const nest::loop rows = nest_.loops.size() > 1 ? nest_.loops[1] : nest::loop{};
        for_each_piece(nest_, bytes_per_piece, all_rows, [&](const piece &at) {
            jit::pair_tables_args a{
                src0 + at.offsets[1], src1 + at.offsets[2], dst + at.offsets[0], &tables_,       at.rows,
                at.columns,           rows.strides[1],      rows.strides[2],     rows.strides[0]};
            if (swaps_) {
                std::swap(a.x, a.y);
                std::swap(a.x_step, a.y_step);
            }
            const bool may_store_past_caches = nontemporal_ && a.x != a.dst && a.y != a.dst &&
                                               begins_line(a.dst) &&
                                               (a.rows == 1 || has_whole_lines(a.dst_step));
            (may_store_past_caches ? nontemporal_ : regular_)->function()(&a);
        });
    }
    std::size_t size_bytes() const override { return sizeof *this + regular_->code_bytes(); }
    std::string plan() const override {
        return text("tables of the results of all pairs of codes",
                    nontemporal_ ? ", stores past the caches" : "");
    }

private:
    using code = jit::shared_code<const jit::pair_tables_args>;
    static code make(instruction_set isa, const binary_problem &p, const code_pairs &pairs,
                     bool is_nontemporal) {
        return jit::pair_tables_code(jit::pair_tables_spec{
            isa, pairs.has_first, p.dst.data_type == data_type::u8, pairs.low, pairs.high, is_nontemporal});
    }

    const dim_t src0_offset_, src1_offset_, dst_offset_;
    const nest nest_;
    const jit::pair_tables tables_;
    const bool swaps_;
    const code regular_, nontemporal_; ///< nontemporal may be null
};

} // namespace

candidate plan_pair_tables(instruction_set isa, const binary_problem &p) {
    if (!isa.byte_permutes)
        return candidate::refused("an instruction set without permutes of bytes");
    for (const memory_desc *md : {&p.src0, &p.src1, &p.dst})
        if (md->format_kind != format_kind::plain)
            return candidate::refused("a packed layout");
    if (element_count(p.dst) == 0)
        return candidate::refused("an empty tensor");
    const nest n = pair_kernel::nest_of(p);
    for (std::size_t operand = 0; operand < 3; operand++)
        if (n.columns().strides[operand] != 1)
            return candidate::refused("rows that are not contiguous in all tensors");
    const auto pairs = make_code_pairs(p);
    if (!pairs)
        return candidate::refused("anything but rounded sums of known 8-bit codes");
    return candidate([=] { return std::make_shared<pair_kernel>(isa, p, *pairs); });
}

} // namespace octet::impl::stream
