"""Details of answers that optional apps add: what clients get of them, and the scripts that show them in the chat."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, Protocol

from django.templatetags.static import static

from assistant.models import Assistant, Run
from assistant.services.tenancy.members import Member


class Reader(Protocol):
    """Returns what a member may see of some of their runs, by the runs' ids, as JSON values."""

    def __call__(self, *, member: Member, runs: Collection[Run]) -> Mapping[int, Any]:
        """Read it. It is called once for all answers that are shown at once, and may query."""
        ...


_added: dict[str, tuple[str, str]] = {}


def add_detail(extension: str, *, read: str, script: str) -> None:
    """Add what an extension has stored of runs to the details of their answers, under the extension's name.

    Args:
        extension: its name, as in `add_run_extension`. Assistants without it show nothing.
        read: the dotted name of a `Reader`, which is imported when it is first called.
        script: the static file of a module, which the chat fetches with the first answer that has the detail. It
            exports `show({ turn, details, answerOf, cardOf, announce })`.
    """
    _added[extension] = (read, script)


def detail_scripts() -> dict[str, str]:
    """Return the addresses of the scripts by the names of the details."""
    return {name: static(script) for name, (_read, script) in _added.items()}


def added_details(*, member: Member, runs: Collection[Run]) -> dict[int, dict[str, Any]]:
    """Return the details that apps add to runs of a member, by the runs' ids and the details' names."""
    found: dict[int, dict[str, Any]] = {}
    if not _added:
        return found
    assistants = Assistant.objects.filter(tenant_id=member.tenant_id, pk__in={run.assistant_id for run in runs})
    extensions = dict(assistants.exclude(extensions=[]).values_list("pk", "extensions"))
    for name, (read, _script) in _added.items():
        having = [run for run in runs if name in extensions.get(run.assistant_id, ())]
        if having:
            module, _, function = read.rpartition(".")
            for pk, value in getattr(import_module(module), function)(member=member, runs=having).items():
                found.setdefault(pk, {})[name] = value
    return found
