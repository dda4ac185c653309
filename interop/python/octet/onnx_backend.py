# SPDX-License-Identifier: Apache-2.0
"""Octet as a backend in ONNX's form (`onnx.backend.base`), for programs and tests that are written against it.

    import onnx, octet.onnx_backend as backend
    outputs = backend.prepare(onnx.load("model.onnx")).run([image])

`Backend` is the class for ONNX's own suite, `onnx.backend.test.BackendTest(octet.onnx_backend.Backend)`: a model
that Octet refuses counts as not compatible there. Needs the package onnx; `octet.Network` does not.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

import numpy as np
import onnx
from onnx.backend import base

from . import _octet
from .network import Network

__all__ = ["Backend", "BackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class BackendRep(base.BackendRep):
    """A prepared model. Its outputs have the types that the model declares; in a network int64 is int32 and bool
    is uint8.

    Sizes, axes, scales and conditions are constants of a network. Where they are inputs of the model, each run makes
    one for the values that it is given, unless they are those of the run before.

    - model: the model
    - options: keyword arguments of octet.Network
    """

    def __init__(self, model: onnx.ModelProto, **options: Any) -> None:
        self._model, self._options = model, options
        self._names = [value.name for value in model.graph.input]
        self._parameters: List[str] = []
        self._values: List[bytes] = []
        self.network: Any = None
        try:
            self.network = Network(model, **options)
        except (_octet.UnsupportedError, ValueError):
            self._parameters = _parameters(model)
            if not self._parameters:
                raise
        self._types = {}
        for output in model.graph.output:
            code = output.type.tensor_type.elem_type
            if code != onnx.TensorProto.UNDEFINED:
                self._types[output.name] = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[code]

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        """Runs it: the outputs in the order of the model.

        - inputs: arrays in the order of the model's inputs, or an array, or a dict by name
        - kwargs: none are known
        """
        _no_options("run", kwargs)
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if self._parameters:
            inputs = self._specialise(inputs if isinstance(inputs, dict) else dict(zip(self._names, inputs)))
        results = self.network(**inputs) if isinstance(inputs, dict) else self.network(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(result.astype(self._types.get(output.name, result.dtype), copy=False)
                     for output, result in zip(self.network.outputs, results))

    def _specialise(self, inputs: Dict[str, Any]) -> Dict[str, Any]:
        """Makes the network for these values of the parameters. Returns the other inputs."""
        given = {name: np.asarray(inputs[name]) for name in self._parameters if name in inputs}
        values = [name.encode() + value.tobytes() for name, value in given.items()]
        if values != self._values or not self.network:
            try:
                self.network = Network(_with_constants(self._model, given), **self._options)
            except ValueError as error:  # of the model, not of these values
                raise _octet.UnsupportedError(str(error)) from None
            self._values = values
        return {name: value for name, value in inputs.items() if name not in given}


class Backend(base.Backend):
    """What ONNX's tests and programs call. Keyword arguments of `prepare` are those of `octet.Network`."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether Octet runs a model: each operator, type and size in it, whatever its inputs are. A model that
        needs values of some (`BackendRep`) is none.

        - model: the model
        - device: "CPU"
        - kwargs: of octet.Network
        """
        if not cls.supports_device(device):
            return False
        try:
            Network(model, **kwargs).close()
        except (_octet.UnsupportedError, ValueError):
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """A model, ready to run. An error says what Octet lacks; `run` does where that depends on the inputs.

        - model: the model
        - device: "CPU"
        - kwargs: of octet.Network
        """
        _need_cpu(device)
        return BackendRep(model, **kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Tuple[Any, ...]:
        """Prepares a model and runs it once.

        - model: the model
        - inputs: as `BackendRep.run` takes them
        - device: "CPU"
        - kwargs: of octet.Network
        """
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None,
                 opset_version: int = 0, **kwargs: Any) -> Tuple[Any, ...]:
        """Runs a single node.

        - node: the node
        - inputs: arrays in the order of its inputs
        - device: "CPU"
        - outputs_info: of each output its type (of NumPy) and shape; None: Octet finds them
        - opset_version: of the node's operators; 0: the newest that the package onnx knows
        - kwargs: of octet.Network
        """
        _need_cpu(device)
        return cls.run_model(_model_of(node, list(inputs), outputs_info, opset_version), inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is a device: "CPU", also with a number.

        - device: its name
        """
        return device.split(":")[0] == "CPU"


def _parameters(model: onnx.ModelProto) -> List[str]:
    """Inputs that may have to be constants: numbers, and lists that no node takes as its data."""
    without_data = ("ConstantOfShape", "If", "Loop", "Range")
    data = {node.input[0] for node in model.graph.node if node.input and node.op_type not in without_data}

    def may_be(value: onnx.ValueInfoProto) -> bool:
        tensor = value.type.tensor_type
        rank = len(tensor.shape.dim) if tensor.HasField("shape") else 2
        return rank == 0 or (rank == 1 and value.name not in data)

    return [value.name for value in model.graph.input if may_be(value)]


def _with_constants(model: onnx.ModelProto, values: Dict[str, Any]) -> onnx.ModelProto:
    """A copy of the model with constants in the places of inputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.input[:]
    copy.graph.input.extend(value for value in model.graph.input if value.name not in values)
    copy.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in values.items())
    return copy


def _model_of(node: onnx.NodeProto, inputs: List[Any], outputs_info: Any, opset_version: int) -> onnx.ModelProto:
    """A model of a node, whose inputs that are absent have no name."""
    names = [name for name in node.input if name]
    if len(inputs) != len(names):
        raise ValueError(f"inputs has {len(inputs)} arrays, allowed: {len(names)}, as many as the node has inputs")
    takes = [_value_info(name, np.asarray(value).dtype, np.shape(value)) for name, value in zip(names, inputs)]
    outputs = [name for name in node.output if name]
    gives = ([_value_info(name, *info) for name, info in zip(outputs, outputs_info)] if outputs_info
             else [onnx.ValueInfoProto(name=name) for name in outputs])
    graph = onnx.helper.make_graph([node], "node", takes, gives)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(
        node.domain, opset_version or onnx.defs.onnx_opset_version())])


def _value_info(name: str, dtype: Any, shape: Iterable[int]) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(dtype)], list(shape))


def _need_cpu(device: str) -> None:
    if not Backend.supports_device(device):
        raise ValueError(f"device is {device!r}, allowed: 'CPU'")


def _no_options(who: str, options: Dict[str, Any]) -> None:
    if options:
        raise TypeError(f"{who} has no argument {sorted(options)[0]!r}, allowed: inputs")


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
is_compatible = Backend.is_compatible
supports_device = Backend.supports_device
