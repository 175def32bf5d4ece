"""Rows by their names, with the references by which messages name them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import not_found
from assistant.api.base import validated_query
from assistant.api.cross_origin import FOR_WIDGET, CrossOriginView
from assistant.api.fields import Text
from assistant.api.openapi import operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.data.services import references
from assistant.contrib.data.services.references import MAX_LENGTH, InvalidReference, NamedRow
from assistant.contrib.data.services.rows_by_name import MAX_OFFERED, offered_plans, rows_by_name
from assistant.services.assistants.configuration import find_assistant
from assistant.services.db.threads import in_database
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.policy import effective_tools
from assistant.toolkit import ToolContext

MAX_SEARCH = 100


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
        "whose tool `get` the assistant may use.",
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
    tools = effective_tools(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=assistant.pk)
    names = {one.tool.name for one in tools if one.policy != "off"}
    context: ToolContext = ToolContext(tenant=member.tenant, user=member.user)
    if not reference:
        return rows_by_name(search, context, tools=names)
    try:
        wanted = references.read(reference)
    except InvalidReference:
        return []
    plan: Any = next((plan for plan in offered_plans(names) if plan is wanted.plan), None)
    if plan is None or not references.is_for(wanted, context):
        return []
    row = references.named_row(plan, wanted.pk, context)
    return [] if row is None else [row]
