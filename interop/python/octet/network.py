# SPDX-License-Identifier: Apache-2.0
"""Networks of .tflite and .onnx files."""

from __future__ import annotations

import errno
import html
import os
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Protocol,
                    Sequence, Tuple, Union)

import numpy as np
from numpy.typing import ArrayLike

from . import _octet
from .arguments import flag, integer, several, text

if TYPE_CHECKING:
    from .profiling import Profile


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


class Tensor(NamedTuple):
    """An input or output: real = scale * (value - zero_point) where it holds quantized values, else `scale` is None.

    `axes` has the name of each axis that the model leaves open, so that calls choose its size, and None for the others. In `shape` an
    open axis has the size in use: for the first axis 1 until another one is chosen, for others -1 until then. `dtype` is None for an
    output whose type follows from sizes that are not chosen yet.
    """

    name: str
    shape: Tuple[int, ...]
    dtype: Optional[np.dtype[Any]]
    scale: Optional[float]
    zero_point: Optional[int]
    axes: Tuple[Optional[str], ...] = ()

    def __repr__(self) -> str:
        axes = f", axes={self.axes}" if any(self.axes) else ""
        codes = "" if self.scale is None else f", scale={self.scale:.6g}, zero_point={self.zero_point}"
        return f"Tensor({self.name!r}, shape={self.shape}{axes}, dtype={self.dtype}{codes})"

    @property
    def _sizes(self) -> str:
        """Sizes as a text, of open axes their names."""
        return "×".join(name or str(size) for name, size in zip(self.axes, self.shape))


class Node(NamedTuple):
    """An operator as it runs: `op` lists those that were fused, `number` is that of the first in the file."""

    number: int
    op: str
    inputs: List[str]
    outputs: List[str]
    shape: Tuple[int, ...]
    implementation: str
    explanation: str


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
                 profile: str = "", rows_alike: bool = False) -> None:
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
        rows_alike = flag("rows_alike", rows_alike)
        super().__init__(model, batch=integer("batch", batch), threads=threads, rule=rule, fusion=fusion,
                         shapes=_shapes(shapes),
                         dimensions=_dimensions(dimensions),
                         progress=bar.report if bar else progress if callable(progress) else None,
                         memory_limit=memory_limit, profile=profile, rows_alike=rows_alike)

        self._made = (model, dict(threads=threads, rule=rule, fusion=fusion, memory_limit=memory_limit, profile=profile,
                                  rows_alike=rows_alike))

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

    def profile(self, *values: ArrayLike, repeat: int = 10, progress: bool = False, **feeds: ArrayLike) -> "Profile":
        """Times of its operators; see `octet.profile`."""
        from .profiling import profile
        return profile(self, *values, repeat=repeat, progress=progress, **feeds)

    def explain(self) -> str:
        """What each operator runs on, and why, as a table."""
        from .profiling import explain
        return explain(self)

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


def html_table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks and reports."""
    def line(cells: Sequence[Any], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"
    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _made_again(model: bytes, options: Dict[str, Any]) -> Network:
    return Network(model, **options)


class progress_bar:
    """tqdm's bar where it is wanted and installed, else nothing."""

    def __init__(self, wanted: Any, total: int, unit: str) -> None:
        self._bar: Any = None
        if wanted:
            try:
                from tqdm import tqdm
                self._bar = tqdm(total=total, unit=unit, leave=False)
            except ImportError:
                pass

    def update(self, count: float) -> None:
        """`count` more are done."""
        if self._bar:
            self._bar.update(count)

    def report(self, done: float, what: str) -> None:
        """A part of the whole is done, for bars of 100 per cent."""
        if self._bar:
            self._bar.set_description(what)
            self._bar.update(100 * done - self._bar.n)
            if done >= 1:
                self._bar.close()

    def close(self) -> None:
        """Removes the bar."""
        if self._bar:
            self._bar.close()
