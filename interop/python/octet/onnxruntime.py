# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's sessions on Octet: its execution provider, for the package onnxruntime 1.23 and later.

    import onnxruntime as ort
    import octet.onnxruntime
    session = ort.InferenceSession("model.onnx", sess_options=octet.onnxruntime.session_options(threads=1))

Octet computes the quantized parts of the model with the bytes of ONNX Runtime 1.30, ONNX Runtime's CPU
provider the rest.
"""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import _octet  # the library lies beside those that this module needs

__all__ = ["ep_name", "library_path", "register", "session_options"]

_LIBRARY = "liboctet_onnxruntime.so"


def ep_name() -> str:
    """The name under which ONNX Runtime knows the provider."""
    return "OctetExecutionProvider"


def library_path() -> str:
    """The absolute path of the provider's library: in the wheel, beside Octet's other libraries, or in the build.

    FileNotFoundError where it is at neither place; its Debian package is liboctet-onnxruntime."""
    here = os.path.dirname(os.path.abspath(_octet.__file__))
    places = [here, os.path.join(here, "..", "..", "interop", "onnxruntime")]
    with open("/proc/self/maps") as maps:
        places += [os.path.dirname(line.split()[-1]) for line in maps if "/liboctet_network" in line]
    for place in places:
        path = os.path.join(place, _LIBRARY)
        if os.path.exists(path):
            return os.path.realpath(path)
    raise FileNotFoundError(f"{_LIBRARY} is neither in {here} nor beside Octet's libraries (Debian: "
                            f"liboctet-onnxruntime)")


def register(name: str = "octet") -> None:
    """Registers the provider with ONNX Runtime; does nothing if its devices are there already."""
    import onnxruntime
    if not any(device.ep_name == ep_name() for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library(name, library_path())


def session_options(options: Optional[Any] = None, *, threads: Optional[int] = None,
                    claim: Optional[str] = None, log: Union[None, bool, int] = None,
                    cache_dir: Union[None, str, "os.PathLike[str]"] = None,
                    memory_limit: Optional[int] = None, minimum: Optional[int] = None,
                    nbits: Optional[str] = None, profile: Optional[str] = None,
                    rows_alike: Union[None, bool, int] = None) -> Any:
    """Session options with the provider. None: the provider's default (doc/onnxruntime.md).

    - options: the caller's own onnxruntime.SessionOptions, which are changed and returned; None: new ones
    - threads: of Octet; 0: as many as the process may use
    - claim: "quantized", or "all", which also takes groups of floats
    - log: 1 reports what is taken and what is left
    - cache_dir: a directory that keeps plans for later sessions
    - memory_limit: bytes that a part may take; 0: no limit
    - minimum: fewest nodes of a part without a product of quantized values
    - nbits: "onnxruntime", or "ordered": products of weights in blocks give a row the same bits in every batch
    - profile: the runtime whose bytes Octet gives
    - rows_alike: 1: attention and products of floats give a row the same bits alone as among others
    """
    given = {name: value for name, value in locals().items() if name != "options" and value is not None}
    import onnxruntime
    register()
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == ep_name()]
    chosen = onnxruntime.SessionOptions() if options is None else options
    chosen.add_provider_for_devices(devices, {name: _text(value) for name, value in given.items()})
    return chosen


def _text(value: Any) -> str:
    return (str(os.fspath(value)) if isinstance(value, os.PathLike)
            else str(int(value) if isinstance(value, bool) else value))
