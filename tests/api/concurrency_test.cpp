// Many threads, one library: creation, the cache and execution at once, of the same and of different
// primitives. The bytes are those of one thread, for every number of threads inside.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "octet/octet.hpp"

using namespace octet;
using dt = data_type;
using tag = format_tag;
using bytes = std::vector<std::uint8_t>;

namespace {

const engine cpu(engine::kind::cpu, 0);

memory pattern(const memory::desc &md, unsigned seed) {
    memory m(md, cpu);
    auto *data = m.map_data<std::uint8_t>();
    for (std::size_t i = 0; i < md.get_size(); i++)
        data[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 13);
    return m;
}

/// A quantized convolution whose shape and attributes follow from a number.
class work {
public:
    explicit work(unsigned number)
        : src_({1, 4 + number % 5, 9, 7}, dt::u8, number % 2 ? tag::nhwc : tag::nchw),
          weights_({6, 4 + number % 5, 3, 3}, dt::s8, tag::oihw), bias_({6}, dt::s32, tag::x),
          dst_({1, 6, 9, 7}, dt::s8, tag::nhwc), src_buffer_(pattern(src_, number)),
          weights_buffer_(pattern(weights_, number + 1)), bias_buffer_(bias_, cpu) {
        std::memset(bias_buffer_.get_data_handle(), 0, bias_.get_size());
        attr_.set_requantization(
            requantization_rule::tflite_2step, 0,
            std::vector<fixed_point_multiplier>{{1 << 30, -static_cast<int>(number % 7), 0}});
        attr_.set_zero_points(OCTET_ARG_SRC, 0, {static_cast<std::int32_t>(number)});
    }

    /// Creates everything anew and runs it.
    bytes run() const {
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_,
                                          memory::desc(weights_.dims(), dt::s8, tag::any), bias_, dst_,
                                          {1, 1}, {1, 1}, {1, 1});
        const convolution_forward::primitive_desc pd(d, attr_, cpu);
        const memory packed(pd.weights_desc(), cpu);
        reorder(weights_buffer_, packed).execute(stream(cpu), weights_buffer_, packed);
        return execute(convolution_forward(pd), packed);
    }

    bytes execute(const convolution_forward &primitive, const memory &weights) const {
        const memory dst(dst_, cpu);
        primitive.execute(stream(cpu), {{OCTET_ARG_SRC, src_buffer_},
                                        {OCTET_ARG_WEIGHTS, weights},
                                        {OCTET_ARG_BIAS, bias_buffer_},
                                        {OCTET_ARG_DST, dst}});
        const auto *data = dst.map_data<const std::uint8_t>();
        return bytes(data, data + dst_.get_size());
    }

    /// The same computation on plain weights, as a primitive to share.
    convolution_forward primitive() const {
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src_,
                                          weights_, bias_, dst_, {1, 1}, {1, 1}, {1, 1});
        return convolution_forward(convolution_forward::primitive_desc(d, attr_, cpu));
    }
    const memory &weights() const { return weights_buffer_; }

private:
    memory::desc src_, weights_, bias_, dst_;
    memory src_buffer_, weights_buffer_, bias_buffer_;
    primitive_attr attr_;
};

constexpr unsigned works = 12;

std::vector<bytes> expected_results() {
    set_num_threads(1);
    std::vector<bytes> results;
    for (unsigned i = 0; i < works; i++)
        results.push_back(work(i).run());
    set_num_threads(0);
    return results;
}

template <typename Body> void in_threads(int count, const Body &body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++)
        threads.emplace_back([&body, t] { body(t); });
    for (std::thread &t : threads)
        t.join();
}

TEST(concurrency, creating_and_executing_in_many_threads_gives_the_same_bytes) {
    const std::vector<bytes> expected = expected_results();
    // With one thread inside, oneTBB stays out of it and a thread sanitizer sees every access of the library.
    for (const int threads_inside : {1, 0}) {
        set_num_threads(threads_inside);
        std::atomic<int> wrong{0};
        in_threads(8, [&](int t) {
            for (unsigned round = 0; round < 3; round++)
                for (unsigned i = 0; i < works; i++) {
                    const unsigned number =
                        (i + static_cast<unsigned>(t)) % works; // equal and different ones
                    if (work(number).run() != expected[number])
                        wrong++;
                }
        });
        EXPECT_EQ(wrong, 0) << threads_inside << " threads inside";
    }
    set_num_threads(0);
}

TEST(concurrency, one_primitive_may_be_executed_by_many_threads) {
    const work shared(5);
    const convolution_forward primitive = shared.primitive();
    const bytes expected = shared.execute(primitive, shared.weights());
    std::atomic<int> wrong{0};
    in_threads(8, [&](int) {
        for (int i = 0; i < 20; i++)
            if (shared.execute(primitive, shared.weights()) != expected)
                wrong++;
    });
    EXPECT_EQ(wrong, 0);
}

TEST(concurrency, the_cache_may_shrink_and_grow_meanwhile) {
    const std::vector<bytes> expected = expected_results();
    const std::size_t capacity = get_primitive_cache_capacity();
    std::atomic<int> wrong{0};
    in_threads(6, [&](int t) {
        for (unsigned i = 0; i < 2 * works; i++) {
            if (t == 0)
                set_primitive_cache_capacity(i % 3 * 4000);
            if (work(i % works).run() != expected[i % works])
                wrong++;
        }
    });
    set_primitive_cache_capacity(capacity);
    EXPECT_EQ(wrong, 0);
}

TEST(concurrency, settings_may_change_meanwhile) {
    const std::vector<bytes> expected = expected_results();
    std::atomic<int> wrong{0};
    in_threads(4, [&](int t) {
        for (unsigned i = 0; i < 2 * works; i++) {
            if (t == 0)
                set_num_threads(static_cast<int>(i % 4));
            if (work(i % works).run() != expected[i % works])
                wrong++;
        }
    });
    set_num_threads(0);
    EXPECT_EQ(wrong, 0);
}

TEST(concurrency, every_number_of_threads_gives_the_same_bytes) {
    const std::vector<bytes> expected = expected_results();
    for (const int threads : {1, 2, 3, 5}) {
        set_num_threads(threads);
        for (unsigned i = 0; i < works; i++)
            EXPECT_EQ(work(i).run(), expected[i]) << threads << " threads, work " << i;
    }
    set_num_threads(0);
}

TEST(concurrency, failures_stay_in_their_thread) {
    const std::vector<bytes> expected = expected_results();
    std::atomic<int> errors{0}, wrong{0};
    in_threads(8, [&](int t) {
        for (unsigned i = 0; i < works; i++) {
            if (t % 2 == 0) {
                wrong += work(i).run() != expected[i];
                continue;
            }
            try {
                memory::desc({-1}, dt::s8, tag::a);
            } catch (const error &) {
                errors++;
            }
        }
    });
    EXPECT_EQ(errors, 4 * static_cast<int>(works));
    EXPECT_EQ(wrong, 0);
}

} // namespace
