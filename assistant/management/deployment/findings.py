"""What a deployment has, and what it lacks, one finding for each part of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What was found of one part of a deployment.

    Args:
        part: such as `static files`.
        says: what is there, or what is wrong.
        mend: how to put it right; empty if nothing is wrong.
        is_unseen: whether this process cannot see it, so that `says` is what to look at.
    """

    part: str
    says: str
    mend: str = ""
    is_unseen: bool = False

    @property
    def line(self) -> str:
        mark = "FIX" if self.mend else "look" if self.is_unseen else "ok"
        return f"{mark:<5} {self.part}: {self.says}" + (f"\n      -> {self.mend}" if self.mend else "")
