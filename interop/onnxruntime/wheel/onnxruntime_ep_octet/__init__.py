# SPDX-License-Identifier: Apache-2.0
"""The library of Octet's execution provider for ONNX Runtime 1.23 and later, in the form that ONNX Runtime asks of
such packages (https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html)."""

import os

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path() -> str:
    """The absolute path of the library, for onnxruntime.register_execution_provider_library."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "liboctet_onnxruntime.so")


def get_ep_names() -> list[str]:
    """The names of the providers in the library, as onnxruntime.get_ep_devices() tells them."""
    return ["OctetExecutionProvider"]


def get_ep_name() -> str:
    """The name of the only provider."""
    return get_ep_names()[0]
