// The primitive cache: equal requests share a kernel, different ones never do, and its bytes are bounded.
// SPDX-License-Identifier: Apache-2.0
#include "api/primitive_cache.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/primitive_desc.hpp"
#include "octet/octet.hpp"

using namespace octet;
using impl::cached_kernel;
using dims = memory::dims;
using dt = data_type;
using tag = format_tag;
using rule = requantization_rule;

namespace {

const engine cpu(engine::kind::cpu, 0);

class fake_kernel : public impl::kernel {
public:
    explicit fake_kernel(std::size_t bytes) : bytes_(bytes) {}
    void execute(const impl::arguments &) const override {}
    std::size_t size_bytes() const override { return bytes_; }
    std::string plan() const override { return "fake"; }

private:
    const std::size_t bytes_;
};

/// Asks the cache; true if the kernel was there.
bool hits(const std::string &key, std::size_t bytes = 1000) {
    bool created = false;
    EXPECT_TRUE(cached_kernel(key, [&] {
        created = true;
        return std::make_shared<fake_kernel>(bytes);
    }));
    return !created;
}

class cache : public testing::Test {
protected:
    cache() { set_primitive_cache_capacity(0); } // drops everything
    ~cache() override { set_primitive_cache_capacity(capacity_); }

private:
    const std::size_t capacity_ = get_primitive_cache_capacity();
};

TEST_F(cache, an_equal_key_hits) {
    set_primitive_cache_capacity(100'000);
    EXPECT_FALSE(hits("a"));
    EXPECT_TRUE(hits("a"));
    EXPECT_FALSE(hits("b"));
    EXPECT_FALSE(hits(std::string("a\0b", 3))) << "keys are bytes, not text";
    EXPECT_TRUE(hits("a"));
}

TEST_F(cache, capacity_0_disables_it) {
    set_primitive_cache_capacity(0);
    EXPECT_EQ(get_primitive_cache_capacity(), 0u);
    EXPECT_FALSE(hits("a"));
    EXPECT_FALSE(hits("a"));
}

TEST_F(cache, lowering_the_capacity_drops_the_least_recently_used) {
    set_primitive_cache_capacity(100'000);
    for (const char *key : {"a", "b", "c"})
        hits(key, 10'000);
    hits("a", 10'000);
    set_primitive_cache_capacity(25'000); // two of them
    EXPECT_TRUE(hits("a"));
    EXPECT_TRUE(hits("c"));
    EXPECT_FALSE(hits("b"));
}

TEST_F(cache, is_bounded_in_bytes_and_not_in_entries) {
    set_primitive_cache_capacity(50'000);
    for (int i = 0; i < 100; i++)
        EXPECT_FALSE(hits("kernel " + std::to_string(i), 9'000));
    int kept = 0;
    for (int i = 99; i >= 90; i--)
        kept += hits("kernel " + std::to_string(i), 9'000) ? 1 : 0;
    EXPECT_EQ(kept, 5) << "five kernels of 9 kB and their keys fit 50 kB";
    EXPECT_FALSE(hits("large", 60'000));
    EXPECT_FALSE(hits("large", 60'000)) << "what is larger than the cache is not kept";
    EXPECT_TRUE(hits("kernel 90", 9'000)) << "and drops nothing";
}

TEST_F(cache, keys_count_too) {
    set_primitive_cache_capacity(10'000);
    EXPECT_FALSE(hits(std::string(20'000, 'k'), 1));
    EXPECT_FALSE(hits(std::string(20'000, 'k'), 1));
}

TEST_F(cache, a_failed_creation_leaves_nothing_behind) {
    set_primitive_cache_capacity(100'000);
    EXPECT_THROW(cached_kernel("a", []() -> std::shared_ptr<const impl::kernel> { throw std::bad_alloc(); }),
                 std::bad_alloc);
    EXPECT_FALSE(hits("a"));
}

TEST_F(cache, threads_wait_for_a_kernel_that_another_one_makes) {
    set_primitive_cache_capacity(100'000);
    constexpr std::size_t threads = 4;
    std::atomic<int> tries{0};
    std::vector<std::shared_ptr<const impl::kernel>> found(threads);
    const auto slowly = [&]() -> std::shared_ptr<const impl::kernel> {
        const bool is_first = tries++ == 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the others ask meanwhile
        if (is_first)
            throw std::bad_alloc();
        return std::make_shared<fake_kernel>(1000);
    };
    std::atomic<int> failures{0};
    std::vector<std::thread> users;
    for (auto &mine : found)
        users.emplace_back([&] {
            try {
                mine = cached_kernel("a", slowly);
            } catch (const std::bad_alloc &) {
                failures++;
            }
        });
    for (std::thread &user : users)
        user.join();
    EXPECT_EQ(tries, 2) << "one that fails, and one for all who waited";
    EXPECT_EQ(failures, 1);
    const auto made = *std::find_if(found.begin(), found.end(), [](const auto &k) { return k != nullptr; });
    EXPECT_EQ(std::count(found.begin(), found.end(), made), threads - 1);
}

// ---- keys of primitives

/// The facts that a convolution's key depends on.
struct request {
    memory::desc src{{1, 4, 6, 6}, dt::u8, tag::nhwc}, weights{{4, 4, 3, 3}, dt::s8, tag::oihw},
        bias{{4}, dt::s32, tag::x}, dst{{1, 4, 4, 4}, dt::s8, tag::nhwc};
    dims strides{1, 1}, dilates{0, 0}, padding{0, 0};
    primitive_attr attr;
    post_ops ops;

    std::string key() const {
        struct with_key : convolution_forward::primitive_desc {
            using convolution_forward::primitive_desc::primitive_desc;
            std::string key() const { return data_->key; }
        };
        primitive_attr all = attr;
        all.set_post_ops(ops);
        const convolution_forward::desc d(prop_kind::forward_inference, algorithm::convolution_direct, src,
                                          weights, bias, dst, strides, dilates, padding, padding);
        const with_key pd(d, all, cpu);
        return pd.key();
    }
};

TEST(cache_key, is_equal_for_equal_requests) { EXPECT_EQ(request().key(), request().key()); }

TEST(cache_key, differs_in_everything_that_decides_the_result) {
    using r = request &;
    using change = void (*)(r);
    const std::vector<fixed_point_multiplier> one{{1 << 30, 0, 0}}, other{{1 << 30, 1, 0}};
    std::map<std::string, int> keys{{request().key(), -1}};
    const change changes[] = {
        [](r c) {
            c.src = memory::desc({1, 4, 6, 6}, dt::u8, tag::nchw);
        },
        [](r c) {
            c.src = memory::desc({1, 4, 6, 6}, dt::s8, tag::nhwc);
        },
        [](r c) {
            c.src = memory::desc({1, 4, 6, 6}, dt::u8, dims{200, 1, 30, 5});
        },
        [](r c) {
            c.src = memory::desc({1, 4, 8, 6}, dt::u8, tag::nhwc).submemory_desc({1, 4, 6, 6}, {0, 0, 1, 0});
        },
        [](r c) {
            c.weights = memory::desc({4, 4, 3, 3}, dt::u8, tag::oihw);
        },
        [](r c) {
            c.weights = memory::desc({4, 4, 3, 3}, dt::s8, tag::any);
        },
        [](r c) { c.bias = memory::desc({4}, dt::f32, tag::x); },
        [](r c) { c.bias = memory::desc(); },
        [](r c) {
            c.dst = memory::desc({1, 4, 4, 4}, dt::u8, tag::nhwc);
        },
        [](r c) {
            c.strides = {2, 2};
            c.padding = {1, 1};
            c.dst = memory::desc({1, 4, 3, 3}, dt::s8, tag::nhwc);
        },
        [](r c) {
            c.dilates = {1, 1};
            c.padding = {1, 1};
        },
        [](r c) { c.attr.set_output_scales(0, {0.5f}); },
        [](r c) { c.attr.set_output_scales(0, {0.25f}); },
        [](r c) { c.attr.set_output_scales(0, {OCTET_RUNTIME_F32_VAL}); },
        [](r c) {
            c.attr.set_output_scales(2, {0.5f, 0.5f, 0.5f, 0.5f});
        },
        [](r c) { c.attr.set_scales(OCTET_ARG_SRC, 0, {0.5f}); },
        [](r c) { c.attr.set_scales(OCTET_ARG_WEIGHTS, 0, {0.5f}); },
        [](r c) { c.attr.set_zero_points(OCTET_ARG_SRC, 0, {1}); },
        [](r c) { c.attr.set_zero_points(OCTET_ARG_DST, 0, {1}); },
        [](r c) { c.attr.set_zero_points(OCTET_ARG_DST, 0, {2}); },
        [](r c) { c.attr.set_zero_points_mask(OCTET_ARG_DST, 0); },
        [](r c) {
            c.attr.set_requantization(rule::tflite_2step, 0,
                                      std::vector<fixed_point_multiplier>{{1 << 30, 0, 0}});
        },
        [](r c) {
            c.attr.set_requantization(rule::tflite_1step, 0,
                                      std::vector<fixed_point_multiplier>{{1 << 30, 0, 0}});
        },
        [](r c) {
            c.attr.set_requantization(rule::tflite_2step, 0,
                                      std::vector<fixed_point_multiplier>{{1 << 30, 1, 0}});
        },
        [](r c) {
            c.attr.set_requantization(rule::gemmlowp_legacy_scale, 0,
                                      std::vector<fixed_point_multiplier>{{1, 1, 0}});
        },
        [](r c) {
            c.attr.set_requantization(rule::gemmlowp_legacy_scale, 0,
                                      std::vector<fixed_point_multiplier>{{1, 1, 1}});
        },
        [](r c) { c.attr.set_requantization(rule::caffe_double_round, 0, std::vector<double>{0.5}); },
        [](r c) { c.attr.set_requantization(rule::caffe_double_round, 0, std::vector<float>{0.5f}); },
        [](r c) { c.ops.append_sum(1.f); },
        [](r c) { c.ops.append_sum(2.f); },
        [](r c) { c.ops.append_sum(1.f, 3); },
        [](r c) { c.ops.append_sum(1.f, dt::u8); },
        [](r c) { c.ops.append_eltwise(algorithm::eltwise_relu, 0, 0); },
        [](r c) { c.ops.append_eltwise(algorithm::eltwise_relu, 0.5f, 0); },
        [](r c) { c.ops.append_eltwise(algorithm::eltwise_tanh, 0, 0); },
        [](r c) {
            c.ops.append_binary(algorithm::binary_add, memory::desc({1, 4, 1, 1}, dt::f32, tag::nchw));
        },
        [](r c) {
            c.ops.append_binary(algorithm::binary_mul, memory::desc({1, 4, 1, 1}, dt::f32, tag::nchw));
        },
        [](r c) { c.ops.append_prelu(0); },
        [](r c) { c.ops.append_prelu(2); },
        [](r c) { c.ops.append_clip(0, 10); },
        [](r c) { c.ops.append_clip(0, 11); },
        [](r c) { c.ops.append_add(10); },
        [](r c) {
            c.ops.append_add(10);
            c.ops.append_clip(0, 10);
        },
        [](r c) {
            c.ops.append_clip(0, 10);
            c.ops.append_add(10);
        },
        [](r c) {
            c.ops.append_rescaled_sum({{1 << 30, 0, 0}, 0, dt::undef, rule::tflite_2step});
        },
        [](r c) {
            c.ops.append_rescaled_sum({{1 << 30, 0, 0}, 1, dt::undef, rule::tflite_2step});
        },
        [](r c) {
            c.ops.append_leaky_relu({{1 << 30, 1, 0}, {1 << 30, 0, 0}});
        },
        [](r c) {
            c.ops.append_leaky_relu({{1 << 30, 1, 0}, {1 << 30, -1, 0}});
        },
        [](r c) { c.ops.append_table({}); },
        [](r c) {
            post_op::table t;
            t.entries[255] = 1;
            c.ops.append_table(t);
        },
        [](r c) {
            c.ops.append_scaled_add({add_multipliers_of(rule::tflite_2step, 1.f, 1.f, 2.f), 0, 0});
        },
        [](r c) {
            c.ops.append_scaled_add({add_multipliers_of(rule::tflite_2step, 1.f, 1.f, 2.f), 0, 1});
        },
        [](r c) {
            c.ops.append_qlinear_add({1.f, 1.f, 0.f, 0, false});
        },
        [](r c) {
            c.ops.append_qlinear_add({1.f, 1.f, 0.f, 0, true});
        },
    };
    for (int i = 0; i < static_cast<int>(std::size(changes)); i++) {
        request c;
        changes[i](c);
        const auto [found, is_new] = keys.emplace(c.key(), i);
        EXPECT_TRUE(is_new) << "changes " << found->second << " and " << i << " have the same key";
    }
}

TEST_F(cache, a_second_primitive_takes_the_first_ones_kernel) {
    set_primitive_cache_capacity(1 << 20);
    struct with_key : matmul::primitive_desc {
        using matmul::primitive_desc::primitive_desc;
        std::string key() const { return data_->key; }
    };
    const memory::desc a({3, 4}, dt::s8, tag::ab), b({4, 5}, dt::s8, tag::ab), c({3, 5}, dt::s32, tag::ab);
    const with_key pd(cpu, a, b, c);
    EXPECT_FALSE(hits(pd.key()));
    set_primitive_cache_capacity(0);
    set_primitive_cache_capacity(1 << 20);
    const matmul first(pd);
    EXPECT_TRUE(hits(pd.key())) << "creation put it there, under the key of the primitive descriptor";
}

} // namespace
