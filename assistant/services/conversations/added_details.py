"""Details of answers that optional apps add: what clients get of them, and the scripts that show them in the chat."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from django.templatetags.static import static

from assistant.models import Assistant, Run
from assistant.services.tenancy.members import Member


class Reader(Protocol):
    """Returns what a member may see of some of their runs, by the runs' ids, as JSON values."""

    def __call__(self, *, member: Member, runs: Collection[Run]) -> Mapping[int, Any]:
        """Read it. It is called once for all answers that are shown at once, and may query."""
        ...


@dataclass(frozen=True, slots=True)
class Annotation:
    """Where one place of an answer comes from, for clients that know only links and documents.

    Attributes:
        start, end: the place in the answer's Markdown, in Unicode characters.
        url: the address of the source; "" for a document.
        document: the id of the passage; "" for an address.
    """

    start: int
    end: int
    title: str
    url: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True)
class _Detail:
    read: str
    script: str
    event: str
    annotate: str
    note: str
    left_out: str
    share: str
    count: str
    for_all: bool

    @staticmethod
    def call(name: str, *given: Any, **named: Any) -> Any:
        """Call the function with a dotted name, which is imported the first time."""
        module, _, function = name.rpartition(".")
        return cast(Callable[..., Any], getattr(import_module(module), function))(*given, **named)


_added: dict[str, _Detail] = {}
_explaining: list[str] = []


def add_detail(
    extension: str,
    *,
    read: str,
    script: str,
    event: str = "",
    annotate: str = "",
    note: str = "",
    left_out: str = "",
    share: str = "",
    count: str = "",
    for_all: bool = False,
) -> None:
    """Add what an extension has stored of runs to the details of their answers, under the extension's name.

    Args:
        extension: its name, as in `add_run_extension`. Assistants without it show nothing.
        read: the dotted name of a `Reader`, which is imported when it is first called.
        script: the static file of a module, which the chat fetches with the first answer that has the detail. It
            exports `show({ turn, details, answerOf, cardOf, announce, nodesOf, load })`: `nodesOf(html)` returns the
            server's HTML as nodes, `load(address)` fetches from the server as the reader.
        event: the `CUSTOM` event that tells of it before the run ends, whose value has the `messageId` of the answer.
        annotate: the dotted name of a function that takes a value, as read or as the event has it, and returns
            `Annotation`s. Both values have the `messageId` of the answer then.
        note: the dotted name of a function that takes a value as read, and returns a line for a conversation that is
            exported as Markdown, or "".
        left_out: the dotted name of a function that takes a value as read, and returns what the answer lacks, as parts
            of the sentence that *Why this answer?* opens.
        share: the dotted name of a function that takes a value as read by a member who has got a link to somebody
            else's conversation, and returns what they may see of it. Without it they see nothing.
        count: the dotted name of a function that takes `tenant_id` and `run_id` (the row's) of a run that ends, and
            returns numbers of it by their names, for events; nothing if it has none.
        for_all: whether all assistants have it, under a name that is no extension's.
    """
    _added[extension] = _Detail(read, script, event, annotate, note, left_out, share, count, for_all)


def explain_with(function: str) -> None:
    """Have a sentence said on what each run's answer was made from, which *Why this answer?* opens.

    Args:
        function: the dotted name of a function, imported with the first answer. It takes `member`, the `thread_id` of
            a conversation of theirs, some of its `runs`, their `sources` (the passages that the answers name), what
            apps have `added` to them, and the tenant's `brand`, and returns sentences by the runs' ids.
    """
    _explaining.append(function)


def explanations(**about: Any) -> dict[int, str]:
    """Return the sentences on runs by their ids; nothing without an app that says them."""
    return {pk: said for function in _explaining for pk, said in _Detail.call(function, **about).items()}


def detail_scripts(assistant: Assistant | None = None) -> dict[str, str]:
    """Return the addresses of the scripts by the names of the details: of those that an assistant has, or of all."""
    return {
        name: static(detail.script)
        for name, detail in _added.items()
        if assistant is None or detail.for_all or name in assistant.extensions
    }


def added_details(*, member: Member, runs: Collection[Run], only_annotating: bool = False) -> dict[int, dict[str, Any]]:
    """Return the details that apps add to runs of a member, by the runs' ids and the details' names.

    Args:
        member: whose runs they are.
        runs: their rows.
        only_annotating: whether only details are read that annotate a message, whose values have its `messageId`.
    """
    found: dict[int, dict[str, Any]] = {}
    if not _added:
        return found
    assistants = Assistant.objects.filter(tenant_id=member.tenant_id, pk__in={run.assistant_id for run in runs})
    extensions = dict(assistants.exclude(extensions=[]).values_list("pk", "extensions"))
    read = {name: detail for name, detail in _added.items() if detail.annotate or not only_annotating}
    for name, detail in read.items():
        having = [run for run in runs if detail.for_all or name in extensions.get(run.assistant_id, ())]
        if having:
            for pk, value in _Detail.call(detail.read, member=member, runs=having).items():
                found.setdefault(pk, {})[name] = value
    return found


def shared_details(*, member: Member, runs: Collection[Run]) -> dict[int, dict[str, Any]]:
    """Return what a member may see of the details of runs that somebody else has shared with them, by the runs' ids."""
    return {
        pk: {name: _Detail.call(_added[name].share, value) for name, value in details.items() if _added[name].share}
        for pk, details in added_details(member=member, runs=runs).items()
    }


def added_counts(*, tenant_id: int, assistant_id: int, run_id: int) -> dict[str, dict[str, int]]:
    """Return what apps have counted of a run, by the details' names, for events, which repeat nothing."""
    counting = {name: detail for name, detail in _added.items() if detail.count}
    if not counting:
        return {}
    own = Assistant.objects.filter(tenant_id=tenant_id, pk=assistant_id)
    extensions = own.values_list("extensions", flat=True).first() or ()
    found = {
        name: cast(dict[str, int], _Detail.call(detail.count, tenant_id=tenant_id, run_id=run_id))
        for name, detail in counting.items()
        if name in extensions
    }
    return {name: counts for name, counts in found.items() if counts}


def annotations_in(added: Mapping[str, Any]) -> list[Annotation]:
    """Return the annotations of an answer with these details, in the order of their places."""
    found = [
        annotation
        for name, value in added.items()
        if name in _added and _added[name].annotate
        for annotation in cast(Sequence[Annotation], _Detail.call(_added[name].annotate, value))
    ]
    return sorted(found, key=lambda one: (one.start, one.end))


def detail_of_event(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details that a `CUSTOM` event tells of, by their names; nothing for other events."""
    return {extension: value for extension, detail in _added.items() if detail.event == name}


def notes(added: Mapping[str, Any]) -> list[str]:
    """Return the lines on an answer with these details, for an export."""
    lines = (
        str(_Detail.call(_added[name].note, value))
        for name, value in added.items()
        if name in _added and _added[name].note
    )
    return [line for line in lines if line]


def left_out_of(added: Mapping[str, Any]) -> list[str]:
    """Return what an answer with these details lacks, as parts of a sentence."""
    return [
        part
        for name, value in added.items()
        if name in _added and _added[name].left_out
        for part in cast(Sequence[str], _Detail.call(_added[name].left_out, value))
    ]
