# SPDX-License-Identifier: Apache-2.0
"""Networks of .tflite and .onnx files."""

from __future__ import annotations

import errno
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _octet
from .arguments import flag, integer, several, text
from .drawing import html_table
from .nodes import Node, Tensor
from .profiling import Profile
from .progress import progress_bar


class SerializesItself(Protocol):
    """An onnx.ModelProto of any version of protobuf."""

    def SerializeToString(self) -> bytes:
        """The bytes of a file."""


Model = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]", SerializesItself]


def profiles() -> List[str]:
    """Names of the runtimes whose bytes networks can give (`profile` of `octet.Network`) and of libraries."""
    return _octet.profiles()


def supported_operators(framework: str) -> List[str]:
    """Names of the operators that networks may have.

    - framework: "tflite" or "onnx"
    """
    return _octet.supported_operators(text("framework", framework))


def _tensor(info: Dict[str, Any]) -> Tensor:
    return Tensor(info["name"], info["shape"], info["dtype"], info["scale"], info["zero_point"], info["axes"])


def _by_name(who: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{who} is {values!r}, allowed: a dict by name")
    return values


def _shapes(values: Any) -> Dict[str, List[int]]:
    shapes = {}
    for name, dims in _by_name("shapes", values).items():
        if isinstance(dims, str) or not isinstance(dims, Iterable):
            raise TypeError(f"shapes[{name!r}] is {dims!r}, allowed: a list of integers")
        shapes[text("a name in shapes", name)] = [integer(f"shapes[{name!r}]", size) for size in dims]
    return shapes


def _dimensions(values: Any) -> Dict[str, int]:
    return {text("a name in dimensions", name): integer(f"dimensions[{name!r}]", size)
            for name, size in _by_name("dimensions", values).items()}


class Network(_octet.Network):
    """A network that runs.

    - model: path of a .tflite or .onnx file or of a saved plan, the file's bytes (also a bytearray or a
      memoryview), or an onnx.ModelProto
    - batch: first dimension of the inputs; 0: as in the file
    - threads: of this network; 0: as `octet.set_num_threads` says, 1: the calling thread alone
    - rule: of convolutions and matrix products, a name of `octet.rules()`; "automatic": the framework's own
    - fusion: fuses operators where no byte changes
    - shapes: sizes of inputs by name
    - dimensions: sizes of dimensions that the file names
    - progress: called with (done, what) while it loads; True: shows a bar of tqdm, where that is installed
    - memory_limit: bytes that weights and buffers may take; 0: no limit
    - profile: the runtime whose bytes a .tflite network gives, a name of `octet.profiles()`; empty: the
      framework's default
    - rows_alike: of an .onnx network: a row has the same bits alone as among others. ONNX Runtime sums up a
      single row times a matrix that is computed, or dequantized, in an order of its own, and so does a
      network by default.
    - nbits: of an .onnx network: the order in which products of weights in blocks (MatMulNBits) sum up,
      "onnxruntime" or "ordered", in which a row has the same bits in every batch

    Call it with arrays in the order of `inputs`, ``net(x)``, or by name, ``net(image=x)``. The result is one
    array, or a tuple where there are several outputs. A quantized input takes quantized values, or floats,
    which are quantized with the model's scale as the framework does it; then quantized outputs are returned
    as floats, too. C-contiguous arrays of the right type are not copied. Any number of threads may call one
    network at once.

    Axes that an .onnx file leaves open have the size of the arrays of each call. The plans of the last 16
    sizes are kept. Other axes are fixed until `resize` changes them.
    """

    def __init__(self, model: Model, *, batch: int = 0, threads: int = 0,
                 rule: str = "automatic", fusion: bool = True, shapes: Mapping[str, Sequence[int]] = {},
                 dimensions: Mapping[str, int] = {},
                 progress: Union[None, bool, Callable[[float, str], None]] = None, memory_limit: int = 0,
                 profile: str = "", rows_alike: bool = False, nbits: str = "onnxruntime") -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress is {progress!r}, allowed: None, True or a function of a part and a text")
        bar = progress_bar(True, 100, "%") if progress is True else None
        model = _path_or_bytes(model)
        if not isinstance(model, bytes):
            _need_file(model)
        threads, memory_limit = integer("threads", threads, 32), integer("memory_limit", memory_limit)
        if memory_limit < 0:
            raise ValueError(f"memory_limit is {memory_limit}, allowed: 0 (no limit) and above")
        rule, profile, fusion = text("rule", rule), text("profile", profile), flag("fusion", fusion)
        rows_alike, nbits = flag("rows_alike", rows_alike), text("nbits", nbits)
        super().__init__(model, batch=integer("batch", batch), threads=threads, rule=rule, fusion=fusion,
                         shapes=_shapes(shapes),
                         dimensions=_dimensions(dimensions),
                         progress=bar.report if bar else progress if callable(progress) else None,
                         memory_limit=memory_limit, profile=profile, rows_alike=rows_alike, nbits=nbits)

        self._made = (model, dict(threads=threads, rule=rule, fusion=fusion, memory_limit=memory_limit, profile=profile,
                                  rows_alike=rows_alike, nbits=nbits))

    def __reduce__(self) -> Any:
        """Pickled, it is the bytes of its model, so that another process, or machine, makes it anew."""
        model, options = self._made
        if not isinstance(model, bytes):
            with open(model, "rb") as file:
                model = file.read()
        return _made_again, (model, {**options, **self._sizes})

    @property
    def inputs(self) -> List[Tensor]:
        """What it takes."""
        return [_tensor(info) for info in self._inputs]

    @property
    def outputs(self) -> List[Tensor]:
        """What it gives."""
        return [_tensor(info) for info in self._outputs]

    @property
    def nodes(self) -> List[Node]:
        """Its operators in the order of execution, with what each runs on."""
        return [Node(**node) for node in self._nodes]

    def run(self, feeds: Union[ArrayLike, Mapping[str, ArrayLike]],
            outputs: Sequence[str] = ()) -> Dict[str, np.ndarray[Any, Any]]:
        """Runs it: outputs by name.

        - feeds: the inputs by name, or the array of an only input
        - outputs: names of those that are wanted; none: all
        """
        if not isinstance(feeds, Mapping):
            if len(self.inputs) != 1:
                raise TypeError(f"feeds is no dict, and the network takes {len(self.inputs)} inputs: "
                                f"run({{{', '.join(repr(info.name) + ': …' for info in self.inputs)}}}), or "
                                f"call the network")
            feeds = {self.inputs[0].name: feeds}
        return super().run({text("a name in feeds", name): value for name, value in feeds.items()},
                           [text("a name in outputs", name) for name in several("outputs", outputs, "names")])

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: Any) -> None:
        """Ends the network: its memory goes back, and calls are errors."""
        self.close()

    def trace(self, *values: ArrayLike, **feeds: ArrayLike) -> Dict[str, np.ndarray[Any, Any]]:
        """Runs it: every tensor that an operator writes, by name. Fused operators write one; a network made
        with fusion=False shows all.

        - values: the inputs in their order
        - feeds: the inputs by name; those that are not given are zero
        """
        return self._trace(self._by_name(values, feeds))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes it with its packed weights and plans, for a start in milliseconds: `octet.Network(path)`, on
        machines with this instruction set and with this version of the library. Keep the model.

        - path: of the new file
        """
        folder = os.path.dirname(os.path.abspath(_path("path", path)))
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        super().save(path)

    def resize(self, *, batch: int = 0, shapes: Mapping[str, Sequence[int]] = {},
               dimensions: Mapping[str, int] = {}) -> None:
        """Gives it other sizes; what is not said is as in the file. State and contents are lost.

        It waits for calls that run, and calls that begin meanwhile wait for it.

        - batch: first dimension of the inputs; 0: as in the file
        - shapes: sizes of inputs by name
        - dimensions: sizes of dimensions that the file names
        """
        super().resize(batch=integer("batch", batch), shapes=_shapes(shapes), dimensions=_dimensions(dimensions))

    def profile(self, *values: ArrayLike, repeat: int = 10, progress: bool = False, **feeds: ArrayLike) -> Profile:
        """Times of its operators; see `octet.profile`."""
        if integer("repeat", repeat, 32) < 1:
            raise ValueError(f"repeat is {repeat}, allowed: 1 or more")
        inputs = self._by_name(values, feeds)
        if not progress:
            return _profile_of(*self._profile(inputs, repeat))
        bar = progress_bar(True, repeat, "run")
        nodes: List[Dict[str, Any]] = []
        runs = []
        for _ in range(repeat):
            nodes, seconds = self._profile(inputs, 1)
            runs.append(seconds)
            bar.update(1)
        bar.close()
        return _profile_of(nodes, [sorted(times)[repeat // 2] for times in zip(*runs)])

    def explain(self) -> str:
        """What each operator runs on, with its plan and what was refused."""
        lines = []
        for node in self.nodes:
            shape = "x".join(map(str, node.shape))
            lines.append(f"node {node.number}: {node.op} -> {shape}  [{node.implementation}]")
            lines += ["    " + line.strip() for line in node.explanation.splitlines()]
        return "\n".join(lines)

    def reset_state(self) -> None:
        """Makes the state of recurrent operators as it is before the first call."""
        super().reset_state()

    def close(self) -> None:
        """Gives its memory back. Calls are errors from then on."""
        super().close()

    def _by_name(self, values: Sequence[Any], feeds: Mapping[str, Any]) -> Dict[str, Any]:
        """Inputs by name; what is not given is zero."""
        inputs = self.inputs
        if len(values) > len(inputs):
            raise TypeError(f"the network takes {len(inputs)} inputs, {len(values)} are given")
        named = {info.name: value for info, value in zip(inputs, values)}
        named.update(feeds)
        for info in inputs:
            if info.name not in named and min(info.shape, default=1) < 1:
                raise TypeError(f"input '{info.name}' is missing, and the model leaves its shape open")
            named.setdefault(info.name, np.full(info.shape, info.zero_point or 0, info.dtype))
        return named

    def __repr__(self) -> str:
        return f"<octet.Network ({self.framework}): {self.inputs} -> {self.outputs}>"

    def _repr_html_(self) -> str:
        rows = [(kind, info.name, info._sizes, info.dtype,
                 *(("", "") if info.scale is None else (f"{info.scale:.6g}", info.zero_point)))
                for kind, infos in (("input", self.inputs), ("output", self.outputs)) for info in infos]
        return (f"<b>octet.Network</b> ({self.framework})"
                + html_table(("", "name", "shape", "dtype", "scale", "zero point"), rows))


def profile(net: Network, *values: ArrayLike, repeat: int = 10, progress: bool = False, **feeds: ArrayLike) -> Profile:
    """Runs a network several times, after a warm-up, and takes the median time of each operator.

    - net: the network
    - values: the inputs in their order, zeros by default
    - repeat: runs
    - progress: shows a bar of tqdm, where that is installed
    - feeds: the inputs by name
    """
    need_network(net)
    return net.profile(*values, repeat=repeat, progress=progress, **feeds)


def explain(net: Network) -> str:
    """What each operator runs on, with its plan and what was refused.

    - net: the network
    """
    need_network(net)
    return net.explain()


def _profile_of(nodes: List[Dict[str, Any]], seconds: List[float]) -> Profile:
    return Profile([Node(**node) for node in nodes], seconds)


def refused_nodes(model: Union[str, "os.PathLike[str]"]) -> List[Tuple[int, str]]:
    """(number, reason) of each node for which octet.Network would refuse a file; none: it runs.

    - model: path of a .tflite or .onnx file
    """
    _need_file(_path("model", model))
    return _octet.refused_nodes(model)


def need_network(net: Any) -> None:
    """Raises TypeError unless an argument is a network."""
    if not isinstance(net, Network):
        raise TypeError(f"net is {type(net).__name__}, allowed: an octet.Network")


def _path(who: str, value: Any) -> Union[str, "os.PathLike[str]"]:
    """The name of a file that an argument is."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{who} is {type(value).__name__}, allowed: a path")
    if not os.fspath(value):
        raise ValueError(f"{who} is '', allowed: the name of a file")
    return value


def _need_file(path: Union[str, "os.PathLike[str]"]) -> None:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


def _path_or_bytes(model: Model) -> Union[str, bytes, "os.PathLike[str]"]:
    """Whatever holds a model, as the compiled module takes it. A ModelProto of any version of protobuf
    serializes itself."""
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    if isinstance(model, (bytearray, memoryview)):
        return bytes(model)
    if not isinstance(model, (str, bytes, os.PathLike)):
        raise TypeError(f"model is {type(model).__name__}, allowed: a path, bytes or an onnx.ModelProto")
    return model


def _made_again(model: bytes, options: Dict[str, Any]) -> Network:
    return Network(model, **options)
