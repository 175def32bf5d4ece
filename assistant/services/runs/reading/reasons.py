"""*Why this answer?*: one sentence on what the answer of a run was made from, and what was left out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from assistant.models import Message as MessageRow
from assistant.models import Run, ToolCall
from assistant.services.branding.brands import BrandValues
from assistant.services.conversations.added_details import left_out_of
from assistant.services.conversations.shares import state_of_call
from assistant.services.conversations.tool_switch import ALL_TOOLS
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.members import Member
from assistant.services.text import isolated
from assistant.services.toolpolicy.titles import titles_of

# Names of a kind in one sentence, characters of each, and calls that are read, the newest.
MAX_NAMES = 8
MAX_NAME = 80
MAX_CALLS = 2_000
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
    """

    tools: dict[str, None] = field(default_factory=dict)
    cut: dict[str, None] = field(default_factory=dict)
    failed: dict[tuple[str, str], None] = field(default_factory=dict)
    documents: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    is_cut_off: bool = False

    @property
    def names(self) -> set[str]:
        """The tools that it names."""
        return {*self.tools, *(name for name, _status in self.failed)}


def reasons_of(
    *,
    member: Member,
    thread_id: uuid.UUID,
    runs: Collection[Run],
    added: Mapping[int, Mapping[str, Any]],
    brand: BrandValues,
) -> dict[int, str]:
    """Return a sentence for each of some runs of a member's own thread that they may read, by the runs' ids.

    It names the tools that were used, whose data, the documents that the answer cites, the files that came with the
    question, and what was left out; never a model. Some queries, however many runs there are.

    Args:
        added: what optional apps add to each run, as of `added_details`.
        brand: of the tenant, whose name visitors know.
    """
    thread = own_thread(member, thread_id).values_list("tools_off", "tenant__name").first()
    if thread is None or not runs:
        return {}
    off, tenant = thread
    records = _records(member, runs)
    named = {*(name for record in records.values() for name in record.names), *off}
    titles = titles_of(tenant_id=member.tenant_id, names=named - {ALL_TOOLS})
    place = (brand.name if member.is_end_user else "") or tenant

    def title(name: str) -> str:
        return titles.get(name) or name.replace("_", " ")

    return {run.pk: _sentence(records[run.pk], title, place, off, left_out_of(added.get(run.pk, {}))) for run in runs}


def _records(member: Member, runs: Collection[Run]) -> dict[Any, _Record]:
    found: dict[Any, _Record] = {run.pk: _Record() for run in runs}
    ids = list(found)
    for run in runs:
        sources = (str(passage.get("source") or "") for passage in run.passages or ())
        found[run.pk].documents.update(dict.fromkeys(filter(None, sources)))
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
    messages = MessageRow.objects.filter(conversation__tenant_id=member.tenant_id, run__in=ids, is_superseded=False)
    telling = messages.filter(Q(is_partial=True) | ~Q(attachments=[])).order_by("position")
    for pk, files, is_partial in telling.values_list("run", "attachments", "is_partial"):
        found[pk].files.update(dict.fromkeys(str(file["name"]) for file in files))
        found[pk].is_cut_off |= is_partial
    return found


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
    if record.files:
        parts.append(_("it was given %(files)s") % {"files": _listed(record.files)})
    if left_out := _left_out(record, off, title):
        parts.append(_("left out: %(what)s") % {"what": _listed(left_out, size=2 * MAX_NAME)})
    parts += [part if len(part) <= MAX_PART else f"{part[: MAX_PART - 1]}…" for part in added]
    return _("%(sentence)s.") % {"sentence": "; ".join(parts)}


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
    listed = ", ".join(map(isolated, shown))
    if len(found) == len(shown):
        return listed
    return _("%(names)s and %(count)s more") % {"names": listed, "count": len(found) - len(shown)}
