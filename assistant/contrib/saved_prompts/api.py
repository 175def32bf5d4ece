"""Saved prompts in the REST API: those that the caller can use, changes to those of one's own, and uses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import TenantView, idempotent, validated, validated_query
from assistant.api.fields import SAYING, Flag, Text
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.saved_prompts.models import MAX_DESCRIPTION, MAX_NAME, MAX_TEXT, MAX_VARIABLES, SavedPrompt
from assistant.contrib.saved_prompts.services.managing import (
    MAX_OWN,
    MAX_SHARED,
    MAX_VALUE,
    PromptConflict,
    PromptForbidden,
    PromptRefused,
    change_prompt,
    delete_prompt,
    make_prompt,
    may_change,
    prompts_of,
    use_prompt,
    variables_of,
)
from assistant.services.text import INTEGERS

TAG = "saved prompts"
GIVEN = {
    "name": "Reply to a complaint",
    "description": "Apologises once, and says what is done.",
    "text": "Write to {{ customer }} about {{ complaint }}.",
    "is_shared": False,
}
PROMPT = {
    "id": 7,
    **GIVEN,
    "variables": ["customer", "complaint"],
    "may_change": True,
    "uses": 3,
    "changed_at": "2026-11-21T09:30:00Z",
}
LISTED = {name: value for name, value in PROMPT.items() if name != "text"}
REFUSED = "There is another of this name, or there are too many."
VALUES = {"customer": "Ms Weber", "complaint": "a torn tent"}
describe_parameter("saved_prompt", "The saved prompt's id.", example=7, schema=POSITIVE_INTEGER)


class SavedPromptListed(ApiSerializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField()
    is_shared = serializers.BooleanField(help_text="It is everybody's in the tenant, and not the caller's own.")
    variables = serializers.ListField(child=serializers.CharField(), help_text="In their order in the text.")
    may_change = serializers.BooleanField(help_text="Whether the caller may change and delete it.")
    uses = serializers.IntegerField(allow_null=True, help_text="Null for those who may not change it.")
    changed_at = serializers.DateTimeField()


class SavedPromptOut(SavedPromptListed):
    text = serializers.CharField(help_text="With its variables, as {{ customer }}.")


class SavedPromptQuery(ApiSerializer):
    search = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_NAME, help_text="Words of name and description."
    )
    limit = serializers.IntegerField(
        required=False, default=MAX_OWN + MAX_SHARED, min_value=1, max_value=MAX_OWN + MAX_SHARED
    )


class SavedPromptChange(ApiSerializer):
    name = Text(required=False, max_length=MAX_NAME, pattern=SAYING)
    description = Text(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    text = Text(
        required=False,
        max_length=MAX_TEXT,
        pattern=SAYING,
        help_text=f"With at most {MAX_VARIABLES} variables, as {{{{ customer }}}}.",
    )


class SavedPromptIn(SavedPromptChange):
    name = Text(max_length=MAX_NAME, pattern=SAYING)
    text = Text(max_length=MAX_TEXT, pattern=SAYING)
    is_shared = Flag(required=False, default=False, help_text="For everybody in the tenant; only its admins may.")


class SavedPromptUse(ApiSerializer):
    values = serializers.DictField(
        child=Text(max_length=MAX_VALUE), required=False, default=dict, help_text="By the names of the variables."
    )


class SavedPromptFilled(ApiSerializer):
    text = serializers.CharField(help_text="The text with its values, to be sent as a message.")


def _entry(view: TenantView, row: SavedPrompt) -> dict[str, Any]:
    is_theirs = may_change(view.member, row)
    return {
        "id": row.pk,
        "name": row.name,
        "description": row.description,
        "text": row.text,
        "is_shared": row.user_id is None,
        "variables": variables_of(row),
        "may_change": is_theirs,
        "uses": row.uses if is_theirs else None,
        "changed_at": row.changed_at,
    }


def _refusal(exc: PromptRefused) -> HttpRefusal:
    if isinstance(exc, PromptForbidden):
        return HttpRefusal(403, "forbidden", str(exc))
    if isinstance(exc, PromptConflict):
        return HttpRefusal(409, "conflict", str(exc))
    return HttpRefusal(400, "invalid_input", str(exc))


class SavedPrompts(TenantView):
    """The saved prompts that a caller can use."""

    @operation(
        "List saved prompts",
        query=SavedPromptQuery,
        responses={200: (SavedPromptListed(many=True), [LISTED])},
        tag=TAG,
        description="The caller's own and the tenant's, by name, without their texts. End users have none.",
    )
    def get(self, request: Request) -> Response:
        query = validated_query(SavedPromptQuery, request)
        rows = prompts_of(self.member, search=query["search"])[: query["limit"]]
        return Response(SavedPromptListed([_entry(self, row) for row in rows], many=True).data)

    @operation(
        "Save a prompt",
        body=SavedPromptIn,
        example=GIVEN,
        responses={201: (SavedPromptOut, PROMPT)},
        conflicts={"conflict": REFUSED},
        tag=TAG,
        is_idempotent=True,
        description=f"At most {MAX_OWN} of one's own, and {MAX_SHARED} of a tenant.",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = validated(SavedPromptIn, request.data)
        is_shared = values.pop("is_shared")
        try:
            row = make_prompt(member=self.member, values=values, is_shared=is_shared)
        except PromptRefused as exc:
            raise _refusal(exc) from exc
        return Response(SavedPromptOut(_entry(self, row)).data, status=201)


class SavedPromptView(TenantView):
    """A view of one saved prompt."""

    def own(self, prompt_id: int, *, to_change: bool = False) -> SavedPrompt:
        """Return a prompt that the caller can use.

        Raises:
            HttpRefusal: 404 for any other, 403 for a change that is not the caller's to make.
        """
        row = prompts_of(self.member).filter(pk=prompt_id).first() if prompt_id in INTEGERS else None
        if row is None:
            raise not_found()
        if to_change and not may_change(self.member, row):
            raise HttpRefusal(403, "forbidden", "Only an admin of the tenant changes what is for everybody.")
        return row


class OneSavedPrompt(SavedPromptView):
    """One saved prompt."""

    @operation("Read a saved prompt", path=["saved_prompt"], responses={200: (SavedPromptOut, PROMPT)}, tag=TAG)
    def get(self, request: Request, saved_prompt: int) -> Response:
        return Response(SavedPromptOut(_entry(self, self.own(saved_prompt))).data)

    @operation(
        "Change a saved prompt",
        path=["saved_prompt"],
        body=SavedPromptChange,
        example={"name": "Reply to a complaint"},
        responses={200: (SavedPromptOut, PROMPT)},
        conflicts={"conflict": REFUSED},
        tag=TAG,
    )
    def patch(self, request: Request, saved_prompt: int) -> Response:
        row = self.own(saved_prompt, to_change=True)
        values = validated(SavedPromptChange, request.data)
        if not values:
            raise ValidationError(["There is nothing to change."])
        try:
            change_prompt(member=self.member, prompt=row, values=values)
        except PromptRefused as exc:
            raise _refusal(exc) from exc
        return Response(SavedPromptOut(_entry(self, row)).data)

    @operation("Delete a saved prompt", path=["saved_prompt"], responses={204: (None, None)}, tag=TAG)
    def delete(self, request: Request, saved_prompt: int) -> Response:
        delete_prompt(member=self.member, prompt=self.own(saved_prompt, to_change=True))
        return Response(status=204)


class SavedPromptUses(SavedPromptView):
    """Uses of a saved prompt."""

    @operation(
        "Use a saved prompt",
        path=["saved_prompt"],
        body=SavedPromptUse,
        example={"values": VALUES},
        responses={201: (SavedPromptFilled, {"text": "Write to Ms Weber about a torn tent."})},
        tag=TAG,
        description="Answers with the text for a message, and counts the use. It sends nothing.",
    )
    def post(self, request: Request, saved_prompt: int) -> Response:
        row = self.own(saved_prompt)
        given = validated(SavedPromptUse, request.data)
        try:
            text = use_prompt(prompt=row, values=given["values"])
        except PromptRefused as exc:
            raise _refusal(exc) from exc
        return Response(SavedPromptFilled({"text": text}).data, status=201)
