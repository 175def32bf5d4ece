"""`RunExtension`: an extension that also acts at moments of a stored run, which other turns do not have."""

from __future__ import annotations

from assistant.core.extensions.extension import ShippedExtension, State


class RunExtension(ShippedExtension[State]):
    """An extension of one tenant's run; an instance serves one run."""

    async def stored(self) -> None:
        """Do what follows a run whose end is stored, however it has ended. Clients do not wait for it."""
