# SPDX-License-Identifier: Apache-2.0
"""A Conan 2 recipe of Octet: `conan create packaging/conan --build=missing`. It builds the sources that it lies in."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Octet(ConanFile):
    name = "octet"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "Quantized neural-network operators with the bytes of the framework that they come from"
    topics = ("int8", "quantization", "inference", "onnx", "tflite")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "network": [True, False], "onnx": [True, False]}
    default_options = {"shared": True, "network": True, "onnx": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "NOTICE", "THIRD_PARTY.md", "README.md", "cmake/*",
                        "cpu/*", "doc/*", "include/*", "jit/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration(f"os is {self.settings.os} on {self.settings.arch}, allowed: "
                                            f"Linux on x86_64")
        if self.options.onnx and not self.options.network:
            raise ConanInvalidConfiguration("onnx needs network")

    def requirements(self):
        self.requires("onetbb/2023.1.0")
        self.requires("xbyak/6.73")
        if self.options.network:
            self.requires("flatbuffers/23.5.26")
        if self.options.onnx:
            self.requires("onnx/1.20.1")
            self.requires("protobuf/[>=4.25.3 <7]")  # as onnx does

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "BUILD_SHARED_LIBS": bool(self.options.shared), "OCTET_BUILD_NETWORK": bool(self.options.network),
            "OCTET_WITH_ONNX": "ON" if self.options.onnx else "OFF", "OCTET_WITH_SERVE": "OFF",
            "OCTET_BUILD_TESTS": False,
            "OCTET_BUILD_TOOLS": False, "OCTET_BUILD_EXAMPLES": False, "OCTET_BUILD_DNNL": False,
            "OCTET_PYTHON": "OFF"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for name in ("LICENSE", "NOTICE", "THIRD_PARTY.md"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # Octet installs its own package configuration
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "octet")]
