# SPDX-License-Identifier: Apache-2.0
"""How far long work is."""

from __future__ import annotations

from typing import Any


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
