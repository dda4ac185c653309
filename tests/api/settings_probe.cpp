// Prints the settings in effect: the child process of settings_test.

#include <iostream>

#include "octet/octet.hpp"

int main() {
    std::cout << "isa " << octet::to_string(octet::get_effective_cpu_isa()) << "\nthreads "
              << octet::get_num_threads() << "\nverbose " << octet::get_verbose() << "\ncache "
              << octet::get_primitive_cache_capacity() << "\n";
}
