// A user's first network: a .tflite file, run once.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "octet/network.hpp"

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    try {
        octet::network net(argv[1]);
        net.run();
        std::printf("%s\n", net.output(0).text().c_str());
        octet::network missing("no such file.tflite");
    } catch (const octet::error &e) { // the exception of one library, thrown by the other
        return e.status == octet::status::invalid_arguments ? 0 : 1;
    }
    return 1;
}
