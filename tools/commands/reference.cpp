// Lists what is left for the reference implementation: a problem for each thing that generated code might not
// take, with the reason for each refusal. Whoever makes generated code take more finds the line gone; a
// problem that is missing here goes into the table.
// SPDX-License-Identifier: Apache-2.0
#include "commands/reference.hpp"

#include <iostream>
#include <string>
#include <vector>

#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct probe {
    const char *what;
    std::string problem;
};

std::vector<probe> probes() {
    const std::string convolution =
        "convolution src:u8:2x64x14x14:nhwc weights:s8:64x64x3x3:any padding_l:1x1";
    const std::string codes = convolution + " dst:u8:2x64x14x14:nhwc";
    const std::string matmul = "matmul src:u8:32x64:ab weights:s8:64x48:any dst:u8:32x48:ab";
    return {
        {"output scales per image and channel", codes + " output_scales:3:0.001..0.002"},
        {"output scales per line", codes + " output_scales:4:0.001..0.002"},
        {"multipliers per image and channel",
         codes + " rule:tflite_2step multipliers:3:1073741824@-9..2147483647@-7"},
        {"destination zero points per line", codes + " zero_points:dst:4:0..13"},
        {"source zero points per channel", codes + " zero_points:src:2:0..63"},
        {"weights zero points per input channel", codes + " zero_points:weights:2:0..63"},
        {"weights zero points per output channel", codes + " zero_points:weights:1:0..63"},
        {"weights zero point of small groups",
         "convolution src:u8:2x64x14x14:nhwc weights:s8:16x4x4x3x3:any dst:u8:2x64x14x14:nhwc padding_l:1x1"
         " zero_points:weights:0:3"},
        {"channels that are not innermost", convolution + " dst:u8:2x64x14x14:nchw"},
        {"the same with a sum", convolution + " dst:u8:2x64x14x14:nchw post_op:sum:1:0:undef"},
        {"f16 destination", convolution + " dst:f16:2x64x14x14:nhwc"},
        {"bf16 destination", convolution + " dst:bf16:2x64x14x14:nhwc"},
        {"bf16 destination whose channels are not innermost", convolution + " dst:bf16:2x64x14x14:nchw"},
        {"bf16 bias", codes + " bias:bf16:64:x"},
        {"ort_f32 to s32 with a zero point",
         convolution + " dst:s32:2x64x14x14:nhwc rule:ort_f32 zero_points:dst:0:3"},
        {"operand per position", codes + " post_op:binary_add:f32:1x1x14x14:nhwc"},
        {"operand of another layout", codes + " post_op:binary_add:f32:2x64x14x14:nchw"},
        {"prelu weights per line", codes + " post_op:prelu:4"},
        {"rescaled sum", codes + " post_op:rescaled_sum:1073741824@0:0:undef:tflite_2step"},
        {"leaky relu", codes + " post_op:leaky_relu:1073741824@0:1073741824@-3:tflite_2step"},
        {"f32 source", "convolution src:f32:2x64x14x14:nhwc weights:f32:64x64x3x3:any dst:f32:2x64x14x14:nhwc"
                       " padding_l:1x1"},
        {"scales of src per row", matmul + " scales:src:1:0.1..0.2 scales:weights:2:0.01..0.02"},
        {"bias per row", matmul + " bias:f32:32x1:ab"},
        {"bias per element", matmul + " bias:f32:32x48:ab"},
        {"operand per row", matmul + " post_op:binary_mul:f32:32x1:ab"},
        {"weights zero points along the reduction", matmul + " zero_points:weights:1:0..63"},
        {"deconvolution of many parts", "deconvolution src:u8:1x8x2x2:nhwc weights:s8:8x8x3x3:any"
                                        " dst:u8:1x8x103x103:nhwc strides:100x100"},
        {"operand per position", "pooling src:u8:2x64x14x14:nhwc dst:u8:2x64x7x7:nhwc kernel:2x2 strides:2x2"
                                 " post_op:binary_add:f32:1x1x7x7:nhwc"},
        {"linear in three dimensions", "resampling algorithm:resampling_linear src:u8:1x64x4x6x6:ndhwc"
                                       " dst:u8:1x64x8x12x12:ndhwc"},
        {"tensors of two layouts",
         "binary src:u8:2x64x14x14:nhwc src1:u8:2x64x14x14:nchw dst:u8:2x64x14x14:nhwc"},
        {"tensors of two layouts", "softmax src:u8:2x64x14x14:nchw dst:f32:2x64x14x14:nhwc"},
        {"five sources", "sum src0:u8:4x64:ab src1:u8:4x64:ab src2:u8:4x64:ab src3:u8:4x64:ab src4:u8:4x64:ab"
                         " dst:u8:4x64:ab"},
        {"scales per group and channel", "reorder src:f32:4x8x16x3x3:hwigo dst:s8:4x8x16x3x3:hwigo"
                                         " output_scales:3:10..20"},
        {"from bf16", "reorder src:bf16:4x64:ab dst:f32:4x64:ab"},
        {"to bf16", "reorder src:f32:4x64:ab dst:bf16:4x64:ab"},
        {"s16 of another layout", "reorder src:s16:4x64:ab dst:s16:4x64:ba"},
    };
}

/// The reasons of the problem: none where no generated code may run.
std::vector<std::string> reasons(const primitive_desc &pd) {
    return get_effective_cpu_isa() == get_available_cpu_isas().front() ? std::vector<std::string>()
                                                                       : pd.refusals();
}

/// Calls `take` with each problem that nobody else wants.
template <typename Function> void for_each_left(const Function &take) {
    const engine cpu(engine::kind::cpu, 0);
    for (const probe &p : probes()) {
        const primitive_desc pd = primitive_desc_from_string(p.problem, cpu);
        if (std::string(pd.impl_info_str()) == "ref")
            take(p, pd);
    }
}

} // namespace

void print_reference() {
    int left = 0;
    for_each_left([&](const probe &p, const primitive_desc &pd) {
        left++;
        std::cout << p.problem.substr(0, p.problem.find(' ')) << ", " << p.what << "\n    " << p.problem
                  << '\n';
        for (const std::string &refusal : reasons(pd))
            std::cout << "    refused by " << refusal << '\n';
    });
    std::cout << left << " of " << probes().size() << " problems run on the reference\n";
}

json reference_json() {
    json left = json::array();
    for_each_left([&](const probe &p, const primitive_desc &pd) {
        left.push_back({{"problem", p.problem}, {"what", p.what}, {"refusals", reasons(pd)}});
    });
    return {{"problems", probes().size()}, {"reference", left}};
}

} // namespace octet::tools
