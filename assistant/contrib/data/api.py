"""Rows by their names, with the references by which messages name them, and all rows of a call as CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import validated_query
from assistant.api.cross_origin import FOR_WIDGET, CrossOriginView
from assistant.api.fields import TEXT, Text
from assistant.api.openapi import describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.data.services import references
from assistant.contrib.data.services.csv_rows import MAX_ROWS, CsvRows, csv_rows
from assistant.contrib.data.services.mentions import mentions
from assistant.contrib.data.services.references import MAX_LENGTH, InvalidReference, NamedRow
from assistant.contrib.data.services.rows_by_name import MAX_OFFERED, offered_plans, rows_by_name
from assistant.contrib.data.services.shown_results import arguments_of_call, plan_of_tool
from assistant.models import ToolCall
from assistant.services.assistants.configuration import find_assistant
from assistant.services.db.threads import in_database
from assistant.services.runs.reading.thread_snapshot import find_run
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.policy import usable_names
from assistant.toolkit import ToolContext, ToolError

MAX_SEARCH = 100
# Documents and tools that rows leave room for.
MAX_OTHERS = 3
describe_parameter(
    "call_id", "The id of a tool call.", example="call_1", schema={"pattern": TEXT, "minLength": 1, "maxLength": 128}
)


class RowsQuery(ApiSerializer):
    search = Text(
        required=False, default="", max_length=MAX_SEARCH, allow_blank=True, help_text="Words that a row contains."
    )
    reference = Text(
        required=False, default="", max_length=MAX_LENGTH, allow_blank=True, help_text="That of the only row to list."
    )


class RowOut(ApiSerializer):
    reference = serializers.CharField(help_text="For `forwardedProps.rows`; it holds for 12 hours, for you alone.")
    label = serializers.CharField(  # type: ignore[assignment]  # the name is the API's
        help_text="What the row is called."
    )
    kind = serializers.CharField(help_text="What it is, in words.")


ROW = {"reference": "WyIxIiwiNyIsInNob3Aub3JkZXIiLCI0NzExIl0:1wQ3Zk:8rFZp0", "label": "Order 4711", "kind": "order"}


class Rows(CrossOriginView):
    """Rows of the project's exposed models that the assistant may read for the caller."""

    door = FOR_WIDGET

    @operation(
        "Find rows by name",
        path=["assistant"],
        query=RowsQuery,
        responses={200: (RowOut(many=True), [ROW])},
        tag="assistants",
        description=f"At most {MAX_OFFERED} rows of exposed models that contain all words of `search`, or the one of "
        "`reference`, with references by which a message names them. Only rows that the caller may see, of models "
        "whose tool `get` the assistant may use. Then documents that the caller may find, by their titles, and tools "
        "that the assistant may use, by their names.",
    )
    async def get(self, request: Request, assistant: str) -> Response:
        query = validated_query(RowsQuery, request)
        rows = await in_database(_rows, self.member, assistant, **query)
        return Response(RowOut(rows, many=True).data)


def _rows(member: Member, slug: str, *, search: str, reference: str) -> list[NamedRow]:
    assistant = find_assistant(tenant_id=member.tenant_id, slug=slug)
    # A token is for one assistant.
    if assistant is None or member.assistant_id not in (None, assistant.pk):
        raise not_found()
    names = usable_names(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=assistant.pk)
    context: ToolContext = ToolContext(
        tenant=member.tenant, user=member.user, assistant=assistant.slug, extra=member.extra
    )
    if not reference:
        rows = rows_by_name(search, context, tools=names)
        others = [] if member.is_end_user else mentions(search, context, tools=names)
        room = MAX_OFFERED - min(len(others), MAX_OTHERS)
        return [*rows[:room], *others][:MAX_OFFERED]
    try:
        wanted = references.read(reference)
    except InvalidReference:
        return []
    plan: Any = next((plan for plan in offered_plans(names) if plan is wanted.plan), None)
    if plan is None or not references.is_for(wanted, context):
        return []
    row = references.named_row(plan, wanted.pk, context)
    return [] if row is None else [row]


class RowsCsv(CrossOriginView):
    """All rows that a call of a `find` tool chose."""

    door = FOR_WIDGET

    @operation(
        "Read the rows of a call as CSV",
        path=["run_id", "call_id"],
        responses={(200, "text/csv"): ({"type": "string"}, "id,label,number\r\n4711,Order 4711,4711\r\n")},
        conflicts={"conflict": "It takes too long, or a rule of the project cannot be asked."},
        tag="runs",
        description="Those that the call's conditions choose now and the caller may see, not only those of its page: "
        f"at most {MAX_ROWS:,}. The header `Assistant-Rows` says how many there are, as `10000/12345`. Cells that a "
        "spreadsheet would take for a formula begin with an apostrophe.",
    )
    async def get(self, request: Request, run_id: str, call_id: str) -> HttpResponse:
        try:
            found = await in_database(_csv, self.member, run_id, call_id)
        except ToolError as exc:
            raise HttpRefusal(409, "conflict", str(exc)) from exc
        answer = HttpResponse(found.text, content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = 'attachment; filename="rows.csv"'
        answer["Assistant-Rows"] = f"{found.count}/{found.in_all}"
        return answer


def _csv(member: Member, run_id: str, call_id: str) -> CsvRows:
    run = find_run(member=member, run_id=run_id)
    calls = ToolCall.objects.filter(tenant_id=member.tenant_id, call_id=call_id, status=ToolCall.Status.OK, agent="")
    call = None if run is None else calls.filter(run_id=run.pk).first()
    offered = None if call is None else plan_of_tool(call.name)
    if run is None or call is None or offered is None or offered[1] != "find":
        raise not_found()
    whose: dict[str, Any] = {"tenant_id": member.tenant_id, "user_id": member.user_id}
    if not usable_names(**whose, assistant_id=run.assistant_id, names=[call.name]):
        raise not_found()
    context: ToolContext = ToolContext(tenant=member.tenant, user=member.user)
    return csv_rows(offered[0], arguments_of_call(call.arguments), context)
