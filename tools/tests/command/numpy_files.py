#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy and `octet run` exchange files: whatever numpy.save, savez and savez_compressed write is read as the same
array, and what the command writes numpy.load reads as the same bytes. usage: numpy_files.py OCTET DIGITS_DIRECTORY"""

import json
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

octet, digits = sys.argv[1], Path(sys.argv[2])
model = digits / "digits_int8.tflite"
failures = 0


def run(*arguments):
    return subprocess.run([octet, "run", str(model), "--repeat", "1", *map(str, arguments)],
                          capture_output=True, text=True)


def expect(what, condition, result):
    global failures
    if not condition:
        failures += 1
        print(f"FAIL {what}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def write_png(path, grey):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    image = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 1), dtype=np.int8)
    image.tofile(folder / "raw.bin")
    first = run("--input", folder / "raw.bin", "--output-dir", folder / "raw")
    expect("raw bytes", first.returncode == 0, first)
    scores = np.fromfile(folder / "raw/output_0.bin", dtype=np.int8).reshape(1, 10)

    # Every way to write the same input.
    wide = image.astype(np.int64)
    files = {"plain": image, "fortran": np.asfortranarray(image), "wide": wide, "big_endian": wide.astype(">i4"),
             "small": wide.astype(np.int16)}
    for kind, array in files.items():
        np.save(folder / f"{kind}.npy", array)
    for version in (1, 2, 3):
        with open(folder / f"version_{version}.npy", "wb") as file:
            np.lib.format.write_array(file, image, version=(version, 0))
    np.savez(folder / "stored.npz", image=image)
    np.savez_compressed(folder / "compressed.npz", image=image)
    np.save(folder / "scores.npy", scores)
    for file in sorted(folder.glob("*.np[yz]")):
        if file.name == "scores.npy":
            continue
        for argument in (file, f"image={file}"):
            result = run("--input", argument, "--against", folder / "scores.npy", "--json")
            expect(f"{file.name}", result.returncode == 0 and json.loads(result.stdout)["equal"] is True, result)

    # Numbers and pixels that stand for the same codes: the input's scale is 1/128, its zero point -128.
    pixels = (image.astype(np.int32) + 128).astype(np.uint8)
    np.save(folder / "real.npy", (pixels / 128).astype(np.float32))
    np.save(folder / "double.npy", pixels / 128)
    write_png(folder / "grey.png", pixels[0, :, :, 0])
    for what in (["real.npy"], ["double.npy"], ["grey.png"], ["grey.png", "--scale", 1 / 128],
                 ["grey.png", "--mean", -0.5, "--std", 0.5, "--scale", 1 / 256, "--resize"]):
        expected = 1 if "--mean" in what else 0  # (pixel / 256 + 0.5) / 0.5 is another image
        result = run("--input", folder / what[0], *what[1:], "--against", folder / "scores.npy")
        expect(f"{what}", result.returncode == expected, result)

    # Every way in which outputs are written.
    for kind in ("npy", "npz"):
        result = run("--input", folder / "plain.npy", "--output-dir", folder / kind, "--format", kind)
        expect(kind, result.returncode == 0, result)
    written = np.load(folder / "npy/output_0.npy")
    expect("output_0.npy", written.dtype == np.int8 and np.array_equal(written, scores), first)
    with np.load(folder / "npz/outputs.npz") as archive:
        expect("outputs.npz", len(archive.files) == 1 and np.array_equal(archive[archive.files[0]], scores), first)

    # What differs is told.
    other = scores.astype(np.int32)
    other[0, 3] += 5 if scores[0, 3] < 0 else -5
    other[0, 7] += 2 if scores[0, 7] < 0 else -2
    np.savez(folder / "other.npz", **{archive.files[0]: other})
    result = run("--input", folder / "plain.npy", "--against", folder / "other.npz", "--json")
    against = json.loads(result.stdout)["outputs"][0]["against"]
    expect("against", result.returncode == 1 and against == {
        "elements": 10, "different": 2,
        "first": {"index": 3, "ours": float(scores[0, 3]), "theirs": float(other[0, 3])},
        "largest_absolute": 5.0, "largest_relative": against["largest_relative"]}, result)
    relative = np.max(np.abs((scores - other) / np.where(other == 0, 1, other)))
    expect("relative", abs(against["largest_relative"] - relative) < 1e-12, result)

sys.exit(1 if failures else 0)
