# SPDX-License-Identifier: Apache-2.0
"""Decoders: networks that append to a past, and the pasts of any number of sequences."""

from __future__ import annotations

from typing import Any, List, Sequence as SequenceOf, Tuple

import numpy as np
from numpy.typing import ArrayLike

from . import _octet
from .arguments import Array, integer, text
from .network import Model, _need_file, _path_or_bytes


class Decoder:
    """A network with a past, as ONNX Runtime GenAI's model builder writes it.

    - model: path of an .onnx file or of a saved plan, the file's bytes, or an onnx.ModelProto. Inputs are `input_ids`,
      `attention_mask`, perhaps `position_ids`, and pasts to which an operator of attention appends; one output is
      `logits`
    - capacity: tokens that a sequence can have; they take memory only as far as there are tokens
    - threads: of this decoder; 0: as `octet.set_num_threads` says, 1: the calling thread alone
    - memory_limit: bytes that weights and buffers may take, without pasts; 0: no limit
    - nbits: the order in which products of weights in blocks (MatMulNBits) sum up, "onnxruntime" or "ordered"

    >>> decoder = octet.Decoder("decoder.onnx")             # doctest: +SKIP
    >>> text = decoder.sequence()                           # doctest: +SKIP
    >>> text.chunk([1, 15, 7]).shape                        # doctest: +SKIP
    (3, 32000)
    >>> text.step(4).argmax()                               # doctest: +SKIP
    2913

    The logits of a sequence are the same bytes however its tokens are cut into calls, and whatever runs in the same
    call. Any number of threads may use a decoder and its sequences; their calls run one after the other.
    """

    def __init__(self, model: Model, *, capacity: int = 4096, threads: int = 0, memory_limit: int = 0,
                 nbits: str = "onnxruntime") -> None:
        source = _path_or_bytes(model)
        if not isinstance(source, bytes):
            _need_file(source)
        if integer("memory_limit", memory_limit) < 0:
            raise ValueError(f"memory_limit is {memory_limit}, allowed: 0 (no limit) and above")
        self._decoder = _octet.Decoder(source, capacity=integer("capacity", capacity),
                                       threads=integer("threads", threads, 32),
                                       memory_limit=integer("memory_limit", memory_limit), nbits=text("nbits", nbits))

    def sequence(self) -> Sequence:
        """A sequence of no tokens."""
        return Sequence(self, self._decoder.new_sequence())

    def batch(self, turns: SequenceOf[Tuple[Sequence, ArrayLike]]) -> List[Array]:
        """Appends tokens to several sequences; single tokens run together. Returns the logits behind the last token of
        each. If it fails, no sequence has changed.

        - turns: pairs of a sequence and the tokens that follow
        """
        checked = []
        for i, turn in enumerate(turns):
            if not isinstance(turn, tuple) or len(turn) != 2 or not isinstance(turn[0], Sequence):
                raise TypeError(f"turn {i} is {turn!r}, allowed: a pair of an octet.Sequence and tokens")
            checked.append((turn[0]._sequence, turn[1], False))
        return self._decoder.run(checked)

    def bytes_of(self, tokens: int) -> int:
        """Bytes that keys and values of so many tokens of a sequence take.

        - tokens: how many
        """
        return self._decoder.bytes_of(integer("tokens", tokens))

    @property
    def weight_bytes(self) -> int:
        """Bytes of packed weights, of those plans that have been needed."""
        return self._decoder.weight_bytes

    def __repr__(self) -> str:
        return "octet.Decoder()"


class Sequence:
    """The tokens that a decoder has run one after the other: their keys and values. `Decoder.sequence` makes it."""

    def __init__(self, decoder: Decoder, sequence: _octet.Sequence) -> None:
        self._decoder, self._sequence = decoder, sequence

    def step(self, token: int) -> Array:
        """Appends a token. Returns the logits behind it, one for each token of the vocabulary.

        - token: its number
        """
        return self._run(np.array([integer("token", token, 32)], np.int32), False)

    def chunk(self, tokens: ArrayLike) -> Array:
        """Appends tokens. Returns the logits behind each, a row for each token.

        - tokens: their numbers, one at least
        """
        return self._run(tokens, True)

    def _run(self, tokens: Any, has_rows: bool) -> Array:
        return self._decoder._decoder.run([(self._sequence, tokens, has_rows)])[0]

    def truncate(self, size: int) -> None:
        """Forgets all tokens but the first ones.

        - size: how many stay; 0: none
        """
        self._sequence.truncate(integer("size", size))

    def fork(self) -> Sequence:
        """A sequence with the same tokens, in common memory; each goes on for itself."""
        return Sequence(self._decoder, self._sequence.fork())

    def __len__(self) -> int:
        return self._sequence.size

    @property
    def capacity(self) -> int:
        """Most tokens."""
        return self._sequence.capacity

    @property
    def nbytes(self) -> int:
        """Bytes that its keys and values take, in whole pages of memory, also those that it shares with others."""
        return self._sequence.nbytes

    def __repr__(self) -> str:
        return f"<octet.Sequence of {len(self)} tokens>"
