"""What the tools of this app have returned in a run, as cards, tables and charts: with the reader's rights of now."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.utils.text import capfirst

from assistant.contrib.data.services.columns import Column
from assistant.contrib.data.services.plans import Plan, plans
from assistant.contrib.data.services.reading import reading, without_queries
from assistant.contrib.data.services.rows import MAX_LISTED, RowTexts, loaded, plain, row_values
from assistant.contrib.data.services.selecting import NotAKey, key_of
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.core.values.untrusted import unfenced
from assistant.models import Run, ToolCall
from assistant.services.addresses import api_url
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.policy import usable_names
from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.bounded_json import load_json

logger = logging.getLogger(__name__)
Kind = Literal["find", "get", "summarise"]
# Calls of one run that are shown, and rows of all runs that are read again at once.
MAX_CALLS = 8
MAX_ROWS = 600
# Columns of a card that no template draws.
MAIN_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class _Call:
    run: Run
    call_id: str
    plan: Plan
    kind: Kind
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        found = [self.result] if self.kind == "get" else self.result.get("rows", ())
        return [row for row in found if isinstance(row, dict) and "id" in row]


def shown_results(*, member: Member, runs: Collection[Run]) -> Mapping[int, Any]:
    """Return the results of some runs that a member may read, by the runs' ids, as clients get them.

    Rows that the member may not see now are left out. Values are those that the tool returned; to somebody else than
    who asked they are those that the reader sees now, and figures, which count rows of who asked, are not shown.
    One query for the calls, one for each model, and one for each assistant's tools that the member may use.
    """
    calls = _calls(member, runs)
    if not calls:
        return {}
    context: ToolContext = ToolContext(tenant=member.tenant, user=member.user)
    seen = {plan: _seen(plan, keys, context) for plan, keys in _keys(calls).items()}
    found: dict[int, dict[str, Any]] = {}
    for call in calls:
        is_own = str(call.run.user_id) == str(member.user_id)
        if call.kind == "summarise":
            shown = _figures(call) if is_own else None
        else:
            shown = _rows(call, seen.get(call.plan, {}), context, is_own=is_own)
        if shown is not None:
            found.setdefault(call.run.pk, {"zone": context.tenant.timezone, "results": []})["results"].append(shown)
    return found


def for_readers_of_a_link(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what somebody who has got a link sees: what was read with their own rights."""
    return value


def note_of(value: Mapping[str, Any]) -> str:
    """Return the line of a Markdown export that names the rows; "" if there are none."""
    labels = [row["label"] for one in value["results"] if one["type"] == "rows" for row in one["rows"]]
    return ", ".join(labels)


def _kinds() -> Mapping[str, tuple[Plan, Kind]]:
    kinds: tuple[Kind, ...] = ("find", "get", "summarise")
    return {
        tool: (plan, kind)
        for plan in plans()
        if not plan.problem
        for tool, kind in zip(plan.tools, kinds, strict=False)
    }


def plan_of_tool(name: str) -> tuple[Plan, Kind] | None:
    """Return the plan of a tool of this app and what the tool does; None of any other."""
    return _kinds().get(name)


def _calls(member: Member, runs: Collection[Run]) -> list[_Call]:
    by_pk = {run.pk: run for run in runs}
    rows = ToolCall.objects.filter(
        tenant_id=member.tenant_id, run__in=list(by_pk), name__in=list(_kinds()), status=ToolCall.Status.OK, agent=""
    )
    stored = list(rows.order_by("pk").values_list("run_id", "call_id", "name", "arguments", "result"))
    if not stored:
        return []
    usable = _usable(member, {by_pk[row[0]].assistant_id for row in stored})
    counts: dict[int, int] = {}
    found = []
    for run_id, call_id, name, arguments, result in stored:
        run = by_pk[run_id]
        counts[run_id] = counts.get(run_id, 0) + 1
        if name in usable[run.assistant_id] and counts[run_id] <= MAX_CALLS:
            plan, kind = _kinds()[name]
            found.append(_Call(run, call_id, plan, kind, _object(arguments), _object(unfenced(result))))
    return found


def _usable(member: Member, assistants: Collection[int]) -> dict[int, frozenset[str]]:
    whose: dict[str, Any] = {"tenant_id": member.tenant_id, "user_id": member.user_id, "names": _kinds().keys()}
    return {pk: usable_names(**whose, assistant_id=pk) for pk in assistants}


def arguments_of_call(text: str) -> Mapping[str, Any]:
    """Return the arguments of a stored call; none of one whose arguments cannot be read."""
    return _object(text)


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = load_json(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _keys(calls: Sequence[_Call]) -> dict[Plan, list[str]]:
    """Return the keys of rows to read again, by their plans; of the newest calls if there are too many."""
    found: dict[Plan, dict[str, None]] = {}
    count = 0
    for call in reversed(calls):
        for row in call.rows if call.kind != "summarise" else ():
            if count < MAX_ROWS:
                found.setdefault(call.plan, {})[str(row["id"])] = None
                count += 1
    return {plan: list(keys) for plan, keys in found.items()}


def _seen(plan: Plan, keys: Sequence[str], context: ToolContext) -> dict[str, Any]:
    """Return those rows that a member sees now, by their keys as text. One query."""
    pks = list(_valid(plan, keys))
    try:
        with reading("Ask for less."):
            chosen = loaded(visible_rows(plan, context).filter(pk__in=pks), plan, context)
            return {str(row.pk): row for row in permitted(plan, context, list(chosen))}
    except ToolError:
        return {}
    except Exception:
        logger.exception("Which rows of %s may be seen cannot be asked; they are not shown", plan.label)
        return {}


def _valid(plan: Plan, keys: Sequence[str]) -> Iterator[Any]:
    for key in keys:
        try:
            yield key_of(plan.model._meta.pk, key)
        except NotAKey:
            continue


def _rows(call: _Call, seen: Mapping[str, Any], context: ToolContext, *, is_own: bool) -> dict[str, Any] | None:
    plan = call.plan
    columns = [column for column in plan.columns if not (column.field.primary_key and column.is_own)]
    texts = RowTexts(plan)
    template = _template(plan)
    shown = []
    for told in call.rows:
        row = seen.get(str(told["id"]))
        if row is None:
            continue
        now = row_values(plan, row, texts, context, MAX_LISTED)
        values = told if is_own else now
        entry = {
            "id": str(told["id"]),
            "label": str(values.get("label", "")),
            "link": now.get("link", ""),
            "values": [shown_choice(column, values.get(column.name)) for column in columns],
        }
        html = _card(template, plan, row, entry) if template is not None else ""
        shown.append({**entry, "html": html} if html else entry)
    if not shown:
        return None
    meta = plan.model._meta
    name = meta.verbose_name if call.kind == "get" else meta.verbose_name_plural
    return {
        "type": "rows",
        "callId": call.call_id,
        "title": capfirst(str(name)),
        "columns": [_column(column, place) for column, place in zip(columns, _main(columns), strict=True)],
        "rows": shown,
        "more": bool(call.result.get("more")),
        "csv": _csv(call, context) if is_own and call.kind == "find" else None,
    }


def _csv(call: _Call, context: ToolContext) -> str:
    return api_url("rows-csv", tenant=context.tenant.slug, run_id=call.run.shown_id, call_id=call.call_id)


def _column(column: Column, is_main: bool) -> dict[str, Any]:
    kind = "number" if column.is_number else column.kind
    return {"name": column.name, "title": capfirst(column.title), "kind": kind, "isMain": is_main}


def _main(columns: Sequence[Column]) -> list[bool]:
    """Return which columns a card shows without a template: the first that are no keys and no long texts."""
    found: list[bool] = []
    for column in columns:
        is_plain = column.kind != "key" and not column.own_field.is_relation
        found.append(is_plain and sum(found) < MAIN_COLUMNS)
    return found


def shown_choice(column: Column, value: Any) -> Any:
    """Return a value as people read it: of a column with choices its name."""
    if column.kind != "choice" or value is None:
        return value
    return next((str(name) for one, name in column.field.flatchoices if str(one) == str(value)), value)


def _template(plan: Plan) -> Any:
    """Return the project's own template of a row; None if it has none."""
    meta = plan.model._meta
    try:
        return get_template(f"assistant/{meta.app_label}/{meta.model_name}.html")
    except TemplateDoesNotExist:
        return None


def _card(template: Any, plan: Plan, row: Any, entry: Mapping[str, Any]) -> str:
    """Return a row as the project's template draws it; "" if it needs what is not shown, or fails."""
    try:
        with without_queries():
            html = template.render({"row": row, plan.one: row, "label": entry["label"], "link": entry["link"]})
    except Exception as exc:
        logger.warning("The template of %s cannot draw a row: %s", plan.label, type(exc).__name__)
        return ""
    return plain(html)


def _figures(call: _Call) -> dict[str, Any] | None:
    groups = call.result.get("groups")
    measure = str(call.arguments.get("measure", "count"))
    names = list(dict.fromkeys(call.arguments.get("group_by") or ()))
    if not isinstance(groups, list) or not groups or not names:
        return None
    columns = {column.name: column for column in call.plan.columns}
    by = [columns.get(name.partition(".")[0]) for name in names]
    of = columns.get(str(call.arguments.get("of", "")))
    return {
        "type": "figures",
        "callId": call.call_id,
        "title": capfirst(str(call.plan.model._meta.verbose_name_plural)),
        "measure": measure,
        "of": "" if of is None else capfirst(of.title),
        "by": [name if column is None else capfirst(column.title) for name, column in zip(names, by, strict=True)],
        "isOverTime": len(names) == 1 and "." in names[0],
        "groups": [
            {
                "names": [
                    group.get(name) if column is None else shown_choice(column, group.get(name))
                    for name, column in zip(names, by, strict=True)
                ],
                "value": group.get(measure),
                "count": group.get("count"),
            }
            for group in groups
            if isinstance(group, dict)
        ],
        "more": bool(call.result.get("more")),
    }
