# SPDX-License-Identifier: Apache-2.0
"""Settings of the process: threads, the instruction set, verbose output."""

from __future__ import annotations

from typing import List

from . import _octet
from .arguments import integer, text


def set_num_threads(threads: int) -> None:
    """Sets the threads of operations, and of networks that have no number of their own.

    - threads: 0 to 1024; 0: one per core
    """
    _octet.set_num_threads(integer("threads", threads, 32))


def get_num_threads() -> int:
    """The threads that `octet.set_num_threads` or OCTET_NUM_THREADS asked for; 0: one per core."""
    return _octet.get_num_threads()


def available_isas() -> List[str]:
    """Names of the instruction sets that this machine has and Octet uses, the lowest first."""
    return _octet.available_isas()


def effective_isa() -> str:
    """Name of the instruction set in use."""
    return _octet.effective_isa()


def set_max_cpu_isa(isa: str) -> None:
    """Sets the highest instruction set for networks and operations that are made from now on. Results do not
    depend on it.

    - isa: a name of `octet.available_isas()`, or "default"
    """
    _octet.set_max_cpu_isa(text("isa", isa))


def set_verbose(level: int) -> None:
    """Prints a row of CSV per event to standard output (doc/verbose.md).

    - level: 0: nothing; 1: executions; 2: also what is made or refused
    """
    _octet.set_verbose(integer("level", level, 32))
