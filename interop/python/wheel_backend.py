"""Builds the wheel of the package octet (PEP 517): CMake compiles, this file packs.

A wheel is for machines without Octet, so it brings every shared library that its module needs, but for those of the C and C++ runtimes, under
names of their own, as auditwheel does: other wheels may bring other versions of the same libraries. patchelf changes the names.

OCTET_WHEEL_BUILD: a build directory to take instead of build/wheel, already compiled.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# What each Linux has: the interface of these changes compatibly.
RUNTIME = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz)\.so")


def _run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def _version():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        return re.search(r"project\(octet VERSION ([0-9.]+)", file.read()).group(1)


def _compiled():
    """The directory of a build with the module."""
    build = os.environ.get("OCTET_WHEEL_BUILD")
    if build is None:
        build = os.path.join(ROOT, "build", "wheel")
        _run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}",
             *(f"-DOCTET_BUILD_{part}=OFF" for part in ("TESTS", "TOOLS", "EXAMPLES", "DNNL")), "-DOCTET_PYTHON=ON")
        _run("cmake", "--build", build, "--target", "octet_python", "--", "--quiet")
    return os.path.abspath(build)


def _needs(path):
    """Shared libraries of a module, by the name that it asks for."""
    found = {}
    for line in _run("ldd", path).splitlines():
        name, arrow, where = line.strip().partition(" => ")
        if arrow and "not found" in where:
            raise RuntimeError(f"{path} needs {name}, which is not found")
        if arrow and not RUNTIME.match(name):
            found[name] = where.split(" (")[0]
    return found


def _bring_libraries(module, place):
    """Copies what a module needs into `place`, and makes everybody ask for the copies."""
    if shutil.which("patchelf") is None:
        raise RuntimeError("a wheel needs patchelf (Debian: patchelf)")
    os.makedirs(place)
    copies = {}
    for name, source in _needs(module).items():
        with open(source, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:8]
        copies[name] = re.sub(r"\.so", f"-{digest}.so", name, count=1)
        shutil.copyfile(source, os.path.join(place, copies[name]))
        os.chmod(os.path.join(place, copies[name]), 0o755)
    relative = os.path.relpath(place, os.path.dirname(module))
    for path, rpath in [(module, f"$ORIGIN/{relative}")] + [(os.path.join(place, c), "$ORIGIN") for c in copies.values()]:
        for name in _run("patchelf", "--print-needed", path).split():
            if name in copies:
                _run("patchelf", "--replace-needed", name, copies[name], path)
        if path != module:
            _run("patchelf", "--set-soname", os.path.basename(path), path)
        _run("patchelf", "--set-rpath", rpath, path)  # one change at a time: it mixes up the arguments of several


def _metadata(version):
    with open(os.path.join(ROOT, "README.md")) as file:
        description = file.read()
    extras = {"plots": ["matplotlib"], "progress": ["tqdm"], "torch": ["torch"], "dask": ["dask", "distributed"], "mpi": ["mpi4py"]}
    lines = ["Metadata-Version: 2.1", "Name: octet", f"Version: {version}",
             "Summary: Quantized neural networks on x86 CPUs with the bytes of the framework that they were made in",
             "Requires-Python: >=3.9", "Requires-Dist: numpy"]
    for extra, packages in extras.items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {p}; extra == "{extra}"' for p in packages]
    return "\n".join(lines + ["Description-Content-Type: text/markdown", "", description])


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: makes the wheel and returns its name."""
    from wheel.wheelfile import WheelFile
    build, version = _compiled(), _version()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    name = f"octet-{version}-{tag}.whl"
    with tempfile.TemporaryDirectory() as stage:
        package = os.path.join(stage, "octet")
        shutil.copytree(os.path.join(ROOT, "interop", "python", "octet"), package, ignore=shutil.ignore_patterns("__pycache__"))
        module = "_octet" + sysconfig.get_config_var("EXT_SUFFIX")
        shutil.copy(os.path.join(build, "python", "octet", module), package)
        _run("strip", "--strip-unneeded", os.path.join(package, module))
        _bring_libraries(os.path.join(package, module), os.path.join(stage, "octet.libs"))
        information = os.path.join(stage, f"octet-{version}.dist-info")
        os.makedirs(information)
        with open(os.path.join(information, "METADATA"), "w") as file:
            file.write(_metadata(version))
        with open(os.path.join(information, "WHEEL"), "w") as file:
            file.write(f"Wheel-Version: 1.0\nGenerator: octet\nRoot-Is-Purelib: false\nTag: {tag}\n")
        shutil.copy(os.path.join(ROOT, "LICENSE"), information)
        path = os.path.join(wheel_directory, name)
        if os.path.exists(path):
            os.remove(path)
        with WheelFile(path, "w") as wheel:
            wheel.write_files(stage)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517: the sources of the last commit."""
    version = _version()
    name = f"octet-{version}.tar.gz"
    archive = subprocess.run(["git", "archive", f"--prefix=octet-{version}/", "HEAD"], check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout
    with gzip.open(os.path.join(sdist_directory, name), "wb") as file:
        file.write(archive)
    return name
