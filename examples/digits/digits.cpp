// Classifies handwritten digits with one int8 network, once under every numeric contract that Octet knows.
//
// The network file holds int8 weights and real scales. How the 32-bit sums of a convolution become 8-bit
// codes again is not in the file: every framework rounds in its own way. Octet computes each way exactly, so
// the same network, with the same weights, gives the bytes of TensorFlow Lite, of ONNX Runtime or of oneDNN,
// as you choose. The table shows what the choice changes: some of the bytes inside, hardly any of the
// answers.
//
// Bytes are compared tensor by tensor, with every operator run by itself: which operators are joined depends
// on the contract, and a joined operator has no output of its own that could be compared. Answers and times
// are those of the network as anyone would run it, with operators joined.
//
// usage: octet_digits [folder with digits_int8.tflite, digits_test.bin and digits_golden.*]
//
// Start reading at main.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "octet/network.hpp"

namespace {

using bytes = std::vector<std::uint8_t>;
using octet::requantization_rule;

bytes read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error(path + ": cannot be read");
    return bytes(std::istreambuf_iterator<char>(file), {});
}

constexpr std::size_t side = 8, pixels = side * side, classes = 10;

template <typename Score> int best_class(const Score *scores) {
    return static_cast<int>(std::max_element(scores, scores + classes) - scores);
}

template <typename T> std::size_t count_equal(const std::vector<T> &a, const std::vector<T> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), std::size_t{0}, std::plus<>(),
                              std::equal_to<>());
}

// ---- the test set (format: README.md)

struct test_set {
    std::size_t count = 0;
    bytes images; ///< count x 8 x 8, values 0 to 16
    std::vector<int> labels;
    std::vector<int> f32_answers; ///< answers of the network before quantization
};

test_set read_test_set(const std::string &path) {
    constexpr std::size_t header = 32, bytes_per_image = pixels + 1 + classes * sizeof(float);
    const bytes file = read_file(path);
    const std::size_t count = file.size() < header ? 0 : (file.size() - header) / bytes_per_image;
    if (count == 0 || std::memcmp(file.data(), "OCTDIGIT", 8) != 0)
        throw std::runtime_error(path + ": not a set of test images");
    const std::uint8_t *images = file.data() + header, *labels = images + count * pixels;
    std::vector<float> logits(count * classes);
    std::memcpy(logits.data(), labels + count, logits.size() * sizeof(float));
    test_set set{count, bytes(images, labels), std::vector<int>(labels, labels + count), {}};
    for (std::size_t image = 0; image < count; image++)
        set.f32_answers.push_back(best_class(&logits[image * classes]));
    return set;
}

// ---- the network under one contract

octet::network_options options_of(requantization_rule rule, bool fusion) {
    octet::network_options options;
    options.rule = rule;
    options.fusion = fusion;
    return options;
}

/// A network from 64 pixels to 10 classes, fed image by image.
class classifier {
public:
    classifier(const std::string &model, requantization_rule rule, bool fusion)
        : network_(model, options_of(rule, fusion)), input_(network_.get_memory(graph().inputs.at(0))),
          output_(network_.get_memory(graph().outputs.at(0))) {
        if (input_.get_desc().get_size() != pixels || output_.get_desc().get_size() != classes)
            throw std::runtime_error(model + ": not a network from 64 pixels to 10 classes");
    }

    const octet::model::graph &graph() const { return network_.get_graph(); }
    octet::memory tensor(int index) const { return network_.get_memory(index); }

    /// Scores of the classes: codes, probability = (code + 128) / 256.
    const std::int8_t *run(const std::uint8_t *image, const octet::network::observer &after_node) {
        auto *codes = input_.map_data<std::int8_t>(); // real = pixel / 16 = (code + 128) / 128
        for (std::size_t p = 0; p < pixels; p++)
            codes[p] = static_cast<std::int8_t>(8 * image[p] - 128);
        network_.run(after_node);
        return output_.map_data<const std::int8_t>();
    }

    std::string implementations() const {
        std::set<std::string> names;
        for (std::size_t node = 0; node < graph().nodes.size(); node++)
            names.insert(network_.implementation(node));
        names.erase("view"); // a reshaped tensor: nothing runs
        std::string list;
        for (const std::string &name : names)
            list += (list.empty() ? "" : ", ") + name;
        return list;
    }

private:
    octet::network network_;
    octet::memory input_, output_;
};

struct result {
    std::vector<int> answers;
    std::vector<std::int8_t> probabilities; ///< probabilities of all images
    double seconds_per_image = 0;           ///< median: an interrupted run does not count
    std::string implementations;
};

result classify(const std::string &model, requantization_rule rule, const test_set &set) {
    classifier network(model, rule, true);
    result r;
    r.implementations = network.implementations();
    std::vector<double> times(set.count);
    for (std::size_t image = 0; image < set.count; image++) {
        const auto take_time = [&](std::size_t, double seconds) { times[image] += seconds; };
        const std::int8_t *scores = network.run(&set.images[image * pixels], take_time);
        r.probabilities.insert(r.probabilities.end(), scores, scores + classes);
        r.answers.push_back(best_class(scores));
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    r.seconds_per_image = *middle;
    return r;
}

/// The results of each operator, by the name of the tensor: all images, one after the other.
using operator_outputs = std::map<std::string, bytes>;

operator_outputs outputs_of_operators(const std::string &model, requantization_rule rule,
                                      const test_set &set) {
    classifier network(model, rule, false);
    operator_outputs outputs;
    const auto keep = [&](std::size_t node, double) {
        for (const int index : network.graph().nodes[node].outputs) {
            const octet::memory m = network.tensor(index);
            const auto *data = m.map_data<const std::uint8_t>();
            bytes &kept = outputs[network.graph().tensors[static_cast<std::size_t>(index)].name];
            kept.insert(kept.end(), data, data + m.get_desc().get_size());
        }
    };
    for (std::size_t image = 0; image < set.count; image++)
        network.run(&set.images[image * pixels], keep);
    return outputs;
}

/// Bytes that differ among those compared, so never more than all of them.
struct difference {
    std::size_t different = 0, compared = 0;
};

/// Each tensor with the one of the same name. Both sides must hold the same tensors, all of them.
difference compare(const operator_outputs &a, const operator_outputs &b) {
    difference d;
    for (const auto &[name, ours] : a) {
        const auto theirs = b.find(name);
        if (a.size() != b.size() || theirs == b.end() || theirs->second.size() != ours.size())
            throw std::logic_error("tensor '" + name + "' has no counterpart under another contract");
        d.compared += ours.size();
        d.different += ours.size() - count_equal(ours, theirs->second);
    }
    return d;
}

/// The probabilities that TensorFlow Lite computes for the test set, from the golden files.
std::vector<std::int8_t> golden_probabilities(const std::string &folder) {
    const bytes text = read_file(folder + "/digits_golden.json"),
                blob = read_file(folder + "/digits_golden.bin");
    const auto entry = nlohmann::json::parse(text).at("test_set").at("tflite").at("probabilities");
    const auto offset = entry.at("offset").get<std::size_t>(), size = entry.at("nbytes").get<std::size_t>();
    if (offset > blob.size() || size > blob.size() - offset)
        throw std::runtime_error(folder + "/digits_golden.bin: too short");
    return std::vector<std::int8_t>(blob.begin() + static_cast<std::ptrdiff_t>(offset),
                                    blob.begin() + static_cast<std::ptrdiff_t>(offset + size));
}

// ---- what is printed

double percent(std::size_t part, std::size_t whole) {
    return 100. * static_cast<double>(part) / static_cast<double>(whole);
}

/// The image that the network is least sure about.
std::size_t hardest_image(const result &r) {
    std::size_t hardest = 0;
    const auto certainty = [&](std::size_t i) {
        return *std::max_element(&r.probabilities[i * classes], &r.probabilities[i * classes] + classes);
    };
    for (std::size_t i = 1; i < r.answers.size(); i++)
        hardest = certainty(i) < certainty(hardest) ? i : hardest;
    return hardest;
}

void print_digit(const test_set &set, const result &r, std::size_t image) {
    std::printf("Test image %zu, the hardest one: a %d. What the network sees, and what it says:\n\n", image,
                set.labels[image]);
    for (std::size_t line = 0; line < classes; line++) { // rows of pixels beside a bar for each class
        for (std::size_t x = 0; x < side; x++) {
            const int pixel = line < side ? set.images[image * pixels + line * side + x] : 0;
            const char shade = " .:-=+*#@"[std::min(pixel, 16) / 2];
            std::printf("%c%c", shade, shade);
        }
        const int code = r.probabilities[image * classes + line] + 128;
        const std::string bar(static_cast<std::size_t>(code / 8), '#');
        std::printf("    %zu  %5.1f %%  %s\n", line, code / 2.56, bar.c_str());
    }
    std::printf("\n");
}

struct contract {
    requantization_rule rule;
    const char *who; ///< computes so
};

constexpr contract contracts[] = {
    {requantization_rule::tflite_2step, "TensorFlow Lite, TFLite Micro"},
    {requantization_rule::tflite_single_rounding, "TFLite with single rounding"},
    {requantization_rule::tflite_1step, "ruy, SNPS-Caffe convolutions"},
    {requantization_rule::f32, "oneDNN 2"},
    {requantization_rule::f32_v3, "oneDNN 3"},
    {requantization_rule::ort_f32, "ONNX Runtime"},
    {requantization_rule::caffe2_2step, "Caffe2, QNNPACK"},
    {requantization_rule::qnnpack_avgpool, "QNNPACK's average pooling"},
    {requantization_rule::gemmlowp_fixedpoint, "gemmlowp"},
    {requantization_rule::gemmlowp_fixedpoint_exponent, "gemmlowp, with an exponent"},
    {requantization_rule::gemmlowp_legacy_scale, "gemmlowp, legacy 8-bit scale"},
    {requantization_rule::rounded_shift, "one rounded shift"},
    {requantization_rule::caffe_double_round, "SNPS-Caffe inner products"},
    {requantization_rule::ev_rte15, "SNPS-Caffe for EV processors"},
};

/// One line per contract; "unlike TFLite's" counts bytes of operator outputs. False if one of them answers
/// worse than the float network by more than 1 %.
bool print_table(const std::string &model, const test_set &set, const operator_outputs &tflite) {
    const std::size_t f32_correct = count_equal(set.f32_answers, set.labels);

    std::printf("%-29s %-30s %8s %9s %12s %15s %9s  %s\n", "contract", "who computes so", "correct",
                "accuracy", "same as f32", "unlike TFLite's", "us/image", "implementation");
    std::printf("%-29s %-30s %8zu %8.2f%% %12zu %15s %9s  %s\n", "(none: float network)", "PyTorch",
                f32_correct, percent(f32_correct, set.count), set.count, "-", "-", "-");
    bool is_good = true;
    for (const contract &c : contracts) {
        const result r = classify(model, c.rule, set);
        const difference d = compare(outputs_of_operators(model, c.rule, set), tflite);
        const std::size_t correct = count_equal(r.answers, set.labels);
        std::printf("%-29s %-30s %8zu %8.2f%% %12zu %8zu %5.2f%% %9.0f  %s\n", octet::to_string(c.rule),
                    c.who, correct, percent(correct, set.count), count_equal(r.answers, set.f32_answers),
                    d.different, percent(d.different, d.compared), 1e6 * r.seconds_per_image,
                    r.implementations.c_str());
        is_good = is_good && percent(f32_correct, set.count) - percent(correct, set.count) <= 1;
    }
    std::printf("\n");
    return is_good;
}

} // namespace

int main(int argc, char **argv) try {
    const std::string folder = argc > 1 ? argv[1] : OCTET_DIGITS_FOLDER;
    const std::string model = folder + "/digits_int8.tflite";
    const test_set set = read_test_set(folder + "/digits_test.bin");
    octet::set_num_threads(1); // images this small are not worth sharing

    const result tflite = classify(model, requantization_rule::automatic, set); // the model's own contract
    const operator_outputs outputs = outputs_of_operators(model, requantization_rule::automatic, set);
    print_digit(set, tflite, hardest_image(tflite));
    std::printf("%zu test images, %zu bytes of operator outputs, ISA %s\n\n", set.count,
                compare(outputs, outputs).compared, octet::to_string(octet::get_effective_cpu_isa()));

    const bool is_accurate = print_table(model, set, outputs);
    const bool is_golden = tflite.probabilities == golden_probabilities(folder);
    if (!is_accurate)
        std::printf("FAILED: a contract loses more than 1 %% of the images\n");
    if (!is_golden)
        std::printf("FAILED: the probabilities under TFLite's contract differ from digits_golden.bin\n");
    if (is_accurate && is_golden)
        std::printf("The probabilities under TFLite's contract are TensorFlow Lite's, byte for byte.\n");
    return is_accurate && is_golden ? 0 : 1;
} catch (const std::exception &e) {
    std::fprintf(stderr, "octet_digits: %s\n", e.what());
    return 2;
}
