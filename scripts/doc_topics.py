#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A filter of doxygen's input for the manual (scripts/manual.sh): doc_topics.py HEADER. It puts what a header
declares into a group, of which the manual has a section, and leaves out the namespace that is the ABI's
version, since users write octet::network."""

import os
import sys

TOPICS = {
    "networks": ["network", "decoder", "quantize"], "graphs": ["graph", "onnx_graph", "shared_bytes"],
    "contracts": ["contract", "profile"],
    "common": ["primitive"], "products": ["convolution", "deconvolution", "inner_product", "matmul", "rnn"],
    "elementwise": ["eltwise", "binary", "prelu", "sum", "concat", "shuffle"],
    "windows": ["pooling", "resampling", "reduction"],
    "normalizations": ["normalization", "batch_normalization", "layer_normalization", "lrn", "softmax",
                       "logsoftmax"],
    "reorder": ["reorder"],
    "attributes": ["primitive_attr", "source_quantization"], "rules": ["requantization"],
    "types": ["types"], "memory": ["memory"], "engines": ["engine"],
    "settings": ["settings", "primitive_cache", "float_environment", "thread_loan", "fork_guard",
                 "parallel_loop", "version"], "errors": ["error"],
    "problems": ["problem", "problem_parts", "example_problems"],
}


def main():
    path = sys.argv[1]
    name, ending = os.path.splitext(os.path.basename(path))
    with open(path) as file:
        text = file.read()
    topics = [topic for topic, names in TOPICS.items() if name in names]
    if ending == ".hpp" and "inline namespace v0 {" in text:
        assert topics, f"{path}: has no topic"
        text = text.replace("inline namespace v0 {",
                            'extern "C++" { /** \\addtogroup topic_%s %s\n@{ */' % (topics[0], topics[0]))
        text = text.replace("} // namespace v0", "/** @} */ }")
    sys.stdout.write(text)


main()
