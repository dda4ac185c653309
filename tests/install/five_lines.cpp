// The program of octet/network.hpp's first lines, against an installed library: which digit is it?
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <octet/network.hpp>

int main(int, char **argv) {
    std::vector<float> pixels = {0, 0, 5,  13, 9,  1,  0, 0, //
                                 0, 0, 13, 15, 10, 15, 5, 0, //
                                 0, 3, 15, 2,  0,  11, 8, 0, //
                                 0, 4, 12, 0,  0,  8,  8, 0, //
                                 0, 5, 8,  0,  0,  9,  8, 0, //
                                 0, 4, 11, 0,  1,  12, 7, 0, //
                                 0, 2, 14, 5,  10, 12, 0, 0, //
                                 0, 0, 6,  13, 10, 0,  0, 0};
    for (float &pixel : pixels)
        pixel /= 16;

    octet::network net(argv[1]);
    net.input("image").copy_from(pixels);
    net.run();
    const std::vector<float> scores = net.output(0).as<float>();
    const auto digit = std::max_element(scores.begin(), scores.end()) - scores.begin();

    std::printf("it is a %td\n", digit);
    return digit == 0 ? 0 : 1;
}
