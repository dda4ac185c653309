// Random problems through oneDNN's C++ interface, as a client that knows nothing of Octet: run alone and with
// liboctet_dnnl in front, it writes what it got to a file, and then compares the two files. The problems, and
// the cases where oneDNN is known to be wrong, are those of tests/peers.
//
//     random_client write FILE SEEDS          random_client compare ALONE PRELOADED SEEDS
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>

#include "compare.hpp"

namespace {

using namespace peers;

struct family {
    operation op;
    theme contents;
    type dst = type::none; ///< instead of what the problem has
};

theme named(const char *name, std::vector<std::string> post_ops = {}, int most = 1) {
    theme t;
    t.name = name;
    t.post_ops = std::move(post_ops);
    t.max_post_ops = most;
    return t;
}
theme at_execution(theme t) {
    t.runtime = true;
    return t;
}
theme with_zero_points(theme t, bool weights) {
    t.src_zero_points = t.dst_zero_points = true;
    t.weights_zero_points = weights;
    return t;
}

std::vector<family> families() {
    const std::vector<std::string> chain{"sum", "eltwise", "binary"};
    std::vector<family> all;
    for (const operation op :
         {operation::convolution, operation::inner_product, operation::matmul, operation::deconvolution}) {
        all.push_back({op, named("plain")});
        all.push_back({op, at_execution(named("runtime"))});
        all.push_back({op, named("eltwise", {"eltwise"})});
        all.push_back({op, named("eltwise", {"eltwise"}), type::bf16});
        all.push_back({op, named("binary", {"binary"})});
        if (op != operation::deconvolution)
            all.push_back({op, named("chains", chain, 4)});
        if (op == operation::inner_product)
            continue; // oneDNN's has no zero points
        all.push_back({op, with_zero_points(named("zero_points"), op == operation::matmul)});
        if (op != operation::deconvolution)
            all.push_back(
                {op, at_execution(with_zero_points(named("runtime_zero_points"), op == operation::matmul))});
    }
    all.push_back({operation::reorder, named("plain")});
    all.push_back({operation::reorder, with_zero_points(named("zero_points"), false)});
    all.push_back({operation::reorder, named("sum", {"sum"})});
    for (const operation op : {operation::pooling, operation::binary}) {
        all.push_back({op, named("plain")});
        all.push_back({op, named("eltwise", {"eltwise"})});
    }
    for (const operation op :
         {operation::eltwise, operation::prelu, operation::resampling, operation::sum, operation::concat})
        all.push_back({op, named("plain")});
    return all;
}

template <typename Visit> void for_each_problem(unsigned seeds, const Visit &visit) {
    for (const family &f : families())
        for (unsigned seed = 1; seed <= seeds; seed++)
            for (const range data : {range::typical, range::extreme}) {
                problem p = random_problem(f.op, f.contents, data, seed);
                if (f.dst != type::none)
                    p.dst = random_source(seed).filled(p.dst.shape, f.dst, range::typical, p.dst.layout);
                visit(p);
            }
}

void write(const std::string &file, unsigned seeds) {
    std::ofstream out(file, std::ios::binary);
    for_each_problem(seeds, [&](const problem &p) {
        const answers got = onednn::ask(p);
        out << got.list.size() << '\n';
        for (const answer &a : got.list) {
            out << a.implementation << '\n' << a.dst.size() << '\n';
            out.write(reinterpret_cast<const char *>(a.dst.data()),
                      static_cast<std::streamsize>(a.dst.size()));
        }
    });
}

/// The next problem's answers.
std::vector<answer> read(std::istream &in) {
    const auto line = [&] {
        std::string text;
        std::getline(in, text);
        return text;
    };
    std::vector<answer> list(std::stoul(line()));
    for (answer &a : list) {
        a.implementation = line();
        a.dst.resize(std::stoul(line()));
        in.read(reinterpret_cast<char *>(a.dst.data()), static_cast<std::streamsize>(a.dst.size()));
    }
    return list;
}

int compare(const std::string &alone_file, const std::string &preloaded_file, unsigned seeds) {
    std::ifstream alone_in(alone_file, std::ios::binary), preloaded_in(preloaded_file, std::ios::binary);
    int problems = 0, taken = 0, differing = 0, deviating = 0, only_octet = 0;
    for_each_problem(seeds, [&](const problem &p) {
        const std::vector<answer> alone = read(alone_in), preloaded = read(preloaded_in);
        if (alone.empty()) {
            only_octet += !preloaded.empty();
            return;
        }
        problems++;
        if (preloaded.empty()) {
            differing++;
            std::cout << "refused with Octet in front: " << to_string(p) << '\n';
            return;
        }
        taken += preloaded.front().implementation.rfind("octet:", 0) == 0;
        for (const answer &expected : alone) {
            const std::string text = difference(p, expected, preloaded.front());
            if (text.empty())
                continue;
            if (deviation(p, expected.implementation)) {
                deviating++;
                continue;
            }
            differing++;
            std::cout << text << ": " << to_string(p) << '\n';
        }
    });
    std::cout << problems << " problems, " << taken << " taken by Octet, " << differing << " differ, "
              << deviating << " answers where oneDNN is known to deviate, " << only_octet
              << " problems that only Octet computes\n";
    return differing == 0 && taken * 2 > problems ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "write")
        return write(arguments[1], static_cast<unsigned>(std::stoul(arguments[2]))), 0;
    if (arguments.size() == 4 && arguments[0] == "compare")
        return compare(arguments[1], arguments[2], static_cast<unsigned>(std::stoul(arguments[3])));
    std::cerr << "random_client write FILE SEEDS | compare ALONE PRELOADED SEEDS\n";
    return 2;
}
