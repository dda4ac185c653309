# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels of Octet: CMake compiles, this file packs.

Each wheel has a pyproject.toml, whose table [tool.octet.wheel] names the Python package and the modules of the
build that lie in it. The one at the root is octet-int8, which pip builds (PEP 517); provider_wheel() makes that of
interop/onnxruntime/wheel, ONNX Runtime's execution provider alone. Both have the version of CMakeLists.txt.

A wheel is for machines without Octet, so it brings every shared library that its module needs, but for those
of the C and C++ runtimes, under names of their own, as auditwheel does: other wheels may bring other versions
of the same libraries. patchelf changes the names.

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
        _run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
             f"-DPython_EXECUTABLE={sys.executable}",
             *(f"-DOCTET_BUILD_{part}=OFF" for part in ("TESTS", "TOOLS", "EXAMPLES", "DNNL")),
             "-DOCTET_PYTHON=ON")
        _run("cmake", "--build", build, "--target", "octet_python", "octet_onnxruntime", "--", "--quiet")
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


def _bring_libraries(modules, place):
    """Copies what modules of one folder need into `place`, makes everybody ask for the copies, and returns
    the paths of the originals."""
    if shutil.which("patchelf") is None:
        raise RuntimeError("a wheel needs patchelf (Debian: patchelf)")
    os.makedirs(place)
    copies = {}
    sources = {name: source for module in modules for name, source in _needs(module).items()}
    for name, source in sources.items():
        with open(source, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:8]
        copies[name] = re.sub(r"\.so", f"-{digest}.so", name, count=1)
        shutil.copyfile(source, os.path.join(place, copies[name]))
        os.chmod(os.path.join(place, copies[name]), 0o755)
    relative = os.path.relpath(place, os.path.dirname(modules[0]))
    for path, rpath in [(module, f"$ORIGIN/{relative}")
                        for module in modules] + [(os.path.join(place, c), "$ORIGIN")
                                                  for c in copies.values()]:
        for name in _run("patchelf", "--print-needed", path).split():
            if name in copies:
                _run("patchelf", "--replace-needed", name, copies[name], path)
        if path not in modules:
            _run("patchelf", "--set-soname", os.path.basename(path), path)
        _run("patchelf", "--set-rpath", rpath, path)  # one change at a time: it mixes up the arguments of several
    return list(sources.values())


def _tables(folder):
    """The tables [project] and [tool.octet.wheel] of a folder's pyproject.toml, the one description of a wheel."""
    try:
        import tomllib
    except ImportError:  # Python below 3.11
        from pip._vendor import tomli as tomllib
    with open(os.path.join(folder, "pyproject.toml"), "rb") as file:
        tables = tomllib.load(file)
    return tables["project"], tables["tool"]["octet"]["wheel"]


def _metadata(project, folder, version):
    with open(os.path.join(folder, project["readme"])) as file:
        description = file.read()
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Author: {author['name']}" for author in project["authors"]]
    lines += [f"Keywords: {','.join(project['keywords'])}"] + [f"Classifier: {c}" for c in project["classifiers"]]
    lines += [f"Requires-Dist: {package}" for package in project["dependencies"]]
    for extra, packages in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {p}; extra == "{extra}"' for p in packages]
    return "\n".join(lines + ["Description-Content-Type: text/markdown", "", description])


def _platform(objects):
    """The oldest Linux that has every versioned symbol of these files, as a tag (PEP 600). Which libstdc++
    belongs to which glibc is what the manylinux policies say."""
    symbols = "".join(_run("objdump", "-T", path) for path in objects)
    minors = [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols)]
    libraries = [int(minor) for minor in re.findall(r"GLIBCXX_3\.4\.(\d+)", symbols)]
    glibc_of = {24: 28, 25: 28, 26: 31, 27: 31, 28: 31, 29: 34, 30: 35, 31: 38, 32: 39}
    return f"manylinux_2_{max(minors + [glibc_of.get(v, 17 if v < 24 else 39) for v in libraries])}_x86_64"


def _copy_licences(libraries, folder):
    """Octet's own licence and notice, and the copyright file of the Debian package that each library came from."""
    os.makedirs(folder)
    for name in ("LICENSE", "NOTICE", "THIRD_PARTY.md"):
        shutil.copy(os.path.join(ROOT, name), folder)
    for library in libraries:
        owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(library)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout
        package = owner.split(":")[0]
        text = f"/usr/share/doc/{package}/copyright"
        if package and os.path.exists(text):
            shutil.copy(text, os.path.join(folder, f"{package}.txt"))


def _tag(modules, objects):
    """py3-none where no module is one of Python's, else the interpreter that this is."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    of_python = any(module.endswith(sysconfig.get_config_var("EXT_SUFFIX")) for module in modules)
    return f"{f'{python}-{python}' if of_python else 'py3-none'}-{_platform(objects)}"


def _build(folder, wheel_directory):
    """Makes the wheel that a folder's pyproject.toml describes, and returns its name."""
    from wheel.wheelfile import WheelFile
    (project, content), build, version = _tables(folder), _compiled(), _version()
    distribution = project["name"].replace("-", "_")
    with tempfile.TemporaryDirectory() as stage:
        package = os.path.join(stage, os.path.basename(content["package"]))
        shutil.copytree(os.path.join(folder, content["package"]), package,
                        ignore=shutil.ignore_patterns("__pycache__"))
        modules = []
        for module in content["modules"]:
            path = os.path.join(build, module.format(suffix=sysconfig.get_config_var("EXT_SUFFIX")))
            modules.append(shutil.copy(path, package))
            _run("strip", "--strip-unneeded", modules[-1])
        brought = os.path.join(stage, f"{distribution}.libs")
        sources = _bring_libraries(modules, brought)
        tag = _tag(modules, modules + [os.path.join(brought, copy) for copy in os.listdir(brought)])
        information = os.path.join(stage, f"{distribution}-{version}.dist-info")
        os.makedirs(information)
        with open(os.path.join(information, "METADATA"), "w") as file:
            file.write(_metadata(project, folder, version))
        with open(os.path.join(information, "WHEEL"), "w") as file:
            file.write(f"Wheel-Version: 1.0\nGenerator: octet\nRoot-Is-Purelib: false\nTag: {tag}\n")
        _copy_licences(sources, os.path.join(information, "licenses"))
        name = f"{distribution}-{version}-{tag}.whl"
        path = os.path.join(wheel_directory, name)
        if os.path.exists(path):
            os.remove(path)
        with WheelFile(path, "w") as wheel:
            wheel.write_files(stage)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: makes the wheel of octet-int8 and returns its name."""
    return _build(ROOT, wheel_directory)


def provider_wheel(wheel_directory):
    """Makes the wheel of onnxruntime-ep-octet and returns its name."""
    return _build(os.path.join(ROOT, "interop", "onnxruntime", "wheel"), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517: the sources of the last commit."""
    version = _version()
    name = f"octet_int8-{version}.tar.gz"
    archive = subprocess.run(["git", "archive", f"--prefix=octet_int8-{version}/", "HEAD"], check=True,
                             stdout=subprocess.PIPE, cwd=ROOT).stdout
    with gzip.open(os.path.join(sdist_directory, name), "wb") as file:
        file.write(archive)
    return name
