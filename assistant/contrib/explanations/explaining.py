"""*Why this answer?*: one sentence on what the answer of a run was made from, and what was left out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from assistant.models import Document, Run, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import left_out_of
from assistant.services.conversations.tool_switch import ALL_TOOLS
from assistant.services.knowledge.citations import passages_in_result
from assistant.services.knowledge.reach import reach_of_member
from assistant.services.knowledge.sources import document_of
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.brands import BrandValues
from assistant.services.tenancy.members import Member
from assistant.services.text import in_one_sentence, isolated, listed
from assistant.services.toolpolicy.policy import usable_names
from assistant.services.toolpolicy.titles import state_of_call, titles_of

# Names of a kind in one sentence, characters of each, and calls that are read, the newest.
MAX_NAMES = 8
MAX_NAME = 80
MAX_CALLS = 2_000
# Results of searches that are read, the newest: each has some passages.
MAX_SEARCHES = 50
# Characters of each part of a sentence that an optional app adds.
MAX_PART = 400
# Calls that have not failed.
_AS_WANTED = {
    ToolCall.Status.OK,
    ToolCall.Status.RUNNING,
    ToolCall.Status.APPROVED,
    ToolCall.Status.AWAITING_APPROVAL,
    ToolCall.Status.PENDING,
}


@dataclass
class _Record:
    """What is known of a run: names in their order, none twice.

    Attributes:
        cut: tools of which the model read only a part of a result.
        failed: tools with how their calls ended otherwise than well.
        documents: those that the answer cites.
        looked_at: other documents of which a search gave the model passages.
    """

    tools: dict[str, None] = field(default_factory=dict)
    cut: dict[str, None] = field(default_factory=dict)
    failed: dict[tuple[str, str], None] = field(default_factory=dict)
    documents: dict[str, None] = field(default_factory=dict)
    looked_at: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    is_cut_off: bool = False

    @property
    def names(self) -> set[str]:
        """The tools that it names."""
        return {*self.tools, *(name for name, _status in self.failed)}


def explanations_of(
    *,
    member: Member,
    thread_id: uuid.UUID,
    runs: Collection[Run],
    sources: Mapping[int, Iterable[Mapping[str, Any]]],
    added: Mapping[int, Mapping[str, Any]],
    brand: BrandValues,
) -> dict[int, str]:
    """Return a sentence for each of some runs of a member's own thread that they may read, by the runs' ids.

    It names the tools that were used, whose data, the documents that the answer cites, those that it only looked at,
    the files that came with the question, and what was left out; never a model. Some queries, however many runs there
    are.

    Args:
        sources: the passages that the answers name and the member may read.
        added: what optional apps add to each run, as of `added_details`.
        brand: of the tenant, whose name visitors know.
    """
    thread = own_thread(member, thread_id).values_list("tools_off", "tenant__name").first()
    if thread is None or not runs:
        return {}
    off, tenant = thread
    records = _records(member, runs, sources)
    named = {*(name for record in records.values() for name in record.names), *off}
    titles = titles_of(tenant_id=member.tenant_id, names=named - {ALL_TOOLS})
    place = (brand.name if member.is_end_user else "") or tenant

    def title(name: str) -> str:
        return titles.get(name) or name.replace("_", " ")

    return {run.pk: _sentence(records[run.pk], title, place, off, left_out_of(added.get(run.pk, {}))) for run in runs}


def _records(
    member: Member, runs: Collection[Run], sources: Mapping[int, Iterable[Mapping[str, Any]]]
) -> dict[Any, _Record]:
    found: dict[Any, _Record] = {run.pk: _Record() for run in runs}
    ids = list(found)
    for run in runs:
        titles = (str(passage.get("source") or "") for passage in sources.get(run.pk, ()))
        found[run.pk].documents.update(dict.fromkeys(filter(None, titles)))
    calls = ToolCall.objects.filter(tenant_id=member.tenant_id, run__in=ids).annotate(is_cut=~Q(told=""))
    newest = calls.order_by("-pk").values_list("run", "name", "status", "is_cut")[:MAX_CALLS]
    for pk, name, status, is_cut in reversed(newest):
        record = found[pk]
        if status == ToolCall.Status.OK:
            record.tools[name] = None
            if is_cut:
                record.cut[name] = None
        elif status not in _AS_WANTED:
            record.failed[name, status] = None
    if any(record.tools for record in found.values()):
        _add_looked_at(member, runs, found)
    messages = MessageRow.objects.filter(conversation__tenant_id=member.tenant_id, run__in=ids, is_superseded=False)
    telling = messages.filter(Q(is_partial=True) | ~Q(attachments=[])).order_by("position")
    for pk, files, is_partial in telling.values_list("run", "attachments", "is_partial"):
        found[pk].files.update(dict.fromkeys(str(file["name"]) for file in files))
        found[pk].is_cut_off |= is_partial
    return found


@dataclass(frozen=True, slots=True)
class _Search:
    """A document of which a search of a run gave the model a passage; without a row if another tool calls it one."""

    run: Run
    tool: str
    document: int | None
    title: str


def _add_looked_at(member: Member, runs: Collection[Run], records: Mapping[Any, _Record]) -> None:
    """Add the documents that were searched and not cited: those that the member may read, by tools that they have."""
    searches = _searches(member, runs)
    assistants = {one.run.assistant_id: one.run.assistant.slug for one in searches}
    titles = {
        pk: _titles(member, slug, [one for one in searches if one.run.assistant_id == pk])
        for pk, slug in assistants.items()
    }
    whose: dict[str, Any] = {"tenant_id": member.tenant_id, "user_id": member.user_id}
    usable = {pk: usable_names(**whose, assistant_id=pk) for pk in assistants}
    for one in searches:
        record = records[one.run.pk]
        title = one.title if one.document is None else titles[one.run.assistant_id].get(one.document, "")
        if title and one.tool in usable[one.run.assistant_id] and not {one.title, title} & record.documents.keys():
            record.looked_at[title] = None


def _titles(member: Member, assistant: str, searches: Iterable[_Search]) -> dict[int, str]:
    """Return the titles of the documents of searches that a member may read now, by their rows."""
    named = [one.document for one in searches if one.document is not None]
    readable = reach_of_member(member, assistant=assistant).readable(named) if named else ()
    return dict(Document.objects.filter(tenant_id=member.tenant_id, pk__in=readable).values_list("pk", "title"))


def _searches(member: Member, runs: Collection[Run]) -> list[_Search]:
    """Return what the newest searches of some runs found, the oldest first."""
    by_pk: dict[Any, Run] = {run.pk: run for run in runs}
    messages = MessageRow.objects.filter(
        conversation__tenant_id=member.tenant_id, run__in=list(by_pk), is_superseded=False, role=MessageRow.Role.TOOL
    )
    results = messages.filter(content__contains='"source_id"').order_by("-position")
    newest = list(results.values_list("run", "tool_call_id", "content")[:MAX_SEARCHES])
    calls = ToolCall.objects.filter(tenant_id=member.tenant_id, run__in={pk for pk, _call, _content in newest})
    names = {(pk, call): name for pk, call, name in calls.values_list("run", "call_id", "name")}
    return [
        _Search(by_pk[pk], names.get((pk, call), ""), document_of(passage["source_id"]), passage["source"])
        for pk, call, content in reversed(newest)
        for passage in passages_in_result(content)
    ]


def _sentence(
    record: _Record, title: Callable[[str], str], place: str, off: Sequence[str], added: Sequence[str]
) -> str:
    if record.tools:
        sentence = _("This answer used %(tools)s, with data of %(tenant)s")
        parts = [sentence % {"tools": _listed(map(title, record.tools)), "tenant": isolated(place)}]
    else:
        sentence = _("This answer used no tool: it comes from the model and this conversation with %(tenant)s")
        parts = [sentence % {"tenant": isolated(place)}]
    if record.documents:
        parts.append(_("it cites %(documents)s") % {"documents": _listed(record.documents)})
    if record.looked_at:
        parts.append(_("looked at and not cited: %(documents)s") % {"documents": _listed(record.looked_at)})
    if record.files:
        parts.append(_("it was given %(files)s") % {"files": _listed(record.files)})
    if left_out := _left_out(record, off, title):
        parts.append(_("left out: %(what)s") % {"what": _listed(left_out, size=2 * MAX_NAME)})
    parts += [part if len(part) <= MAX_PART else f"{part[: MAX_PART - 1]}…" for part in added]
    return _("%(sentence)s.") % {"sentence": in_one_sentence(parts)}


def _left_out(record: _Record, off: Sequence[str], title: Callable[[str], str]) -> list[str]:
    cut = [_("a part of what %(tool)s returned") % {"tool": title(name)} for name in record.cut]
    failed = [
        _("%(tool)s (%(state)s)") % {"tool": title(name), "state": state_of_call(status)}
        for name, status in record.failed
    ]
    if ALL_TOOLS in off:
        switched = [_("all tools (off in this conversation)")]
    else:
        switched = [_("%(tool)s (off in this conversation)") % {"tool": title(name)} for name in off]
    return [*cut, *failed, *switched, *([_("the rest of the answer, which was cut off")] if record.is_cut_off else [])]


def _listed(names: Iterable[str], size: int = MAX_NAME) -> str:
    """Return the first of some names on one line, each with at most `size` characters, and how many there are more."""
    found = [" ".join(name.split()) for name in names]
    shown = [name if len(name) <= size else f"{name[: size - 1]}…" for name in found[:MAX_NAMES]]
    names_shown = listed(map(isolated, shown))
    if len(found) == len(shown):
        return names_shown
    return _("%(names)s and %(count)s more") % {"names": names_shown, "count": len(found) - len(shown)}
