// The program of octet/network.hpp's first lines, against an installed library.
// SPDX-License-Identifier: Apache-2.0
#include <octet/network.hpp>

int main(int, char **argv) {
    const std::vector<float> pixels(64, 3.f);

    octet::network net(argv[1]);
    net.input("image").copy_from(pixels);
    net.run();
    const std::vector<float> scores = net.output(0).as<float>();

    return scores.size() == 10 ? 0 : 1;
}
