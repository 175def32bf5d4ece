"""What a deployment has, and what it lacks, one finding for each part of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What was found of one part of a deployment.

    Args:
        part: such as `static files`.
        message: what is there, or what is wrong.
        fix: how to put it right; empty if nothing is wrong.
        is_manual: whether this process cannot see it, so that `message` is what to look at.
    """

    part: str
    message: str
    fix: str = ""
    is_manual: bool = False

    @property
    def line(self) -> str:
        mark = "FIX" if self.fix else "look" if self.is_manual else "ok"
        return f"{mark:<5} {self.part}: {self.message}" + (f"\n      -> {self.fix}" if self.fix else "")
