# SPDX-License-Identifier: Apache-2.0
"""What of a PyTorch network runs on Octet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional


MOVES, CHANGES = "moves codes, computes nothing", "changes between codes and floats"


@dataclass
class Taken:
    """One module or function of the network: `reason` says why it stays in PyTorch, None where Octet has it."""

    name: str
    kind: str
    reason: Optional[str] = None


class Report(List[Taken]):
    """All modules and functions. Printed, it is a table. What depends on scales that are found at run time is
    decided at the first run."""

    def __init__(self, engine: str = "") -> None:
        super().__init__()
        self.engine = engine

    @property
    def taken(self) -> List[Taken]:
        """Those that Octet has."""
        return [m for m in self if m.reason is None]

    @property
    def left(self) -> List[Taken]:
        """Those that stay in PyTorch."""
        return [m for m in self if m.reason is not None]

    def __str__(self) -> str:
        moving = sum(m.reason in (MOVES, CHANGES) for m in self.left)
        lines = [f"{len(self.taken)} operations on Octet, {len(self.left)} in PyTorch, {moving} of which "
                 f"move codes or change to floats"]
        lines += [f"  {m.name}: {m.kind}: {m.reason or 'octet'}" for m in self]
        return "\n".join(lines)
