"""Schemas of values that no serializer describes, and of what stands in addresses."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework import serializers
from rest_framework.views import APIView

from assistant.api.fields import MESSAGE_ID, SLUG, TEXT
from assistant.api.openapi import POSITIVE_INTEGER, Operation, Parameter
from assistant.api.serializers import ApiSerializer
from assistant.contrib.docs.operations.examples import THREAD
from assistant.services.runs.input.ids import MAX_CLIENT_ID
from assistant.services.text import INTEGERS

# Of views, by their methods.
Operations = Mapping[type[APIView], Mapping[str, Operation]]

# The component of values that no field describes, such as the arguments of tools.
ANY_JSON = {"$ref": "#/components/schemas/AnyJson"}
ANY_JSON_SCHEMA = {
    "description": "Any JSON value. Texts hold no NUL, and numbers fit into 64 bits.",
    "type": ["string", "number", "boolean", "null", "array", "object"],
    "pattern": TEXT,
    "minimum": INTEGERS.start,
    "exclusiveMaximum": INTEGERS.stop,
    "items": ANY_JSON,
    "propertyNames": {"pattern": TEXT},
    "additionalProperties": ANY_JSON,
}
ANY_OBJECT = {"type": "object", "propertyNames": {"pattern": TEXT}, "additionalProperties": ANY_JSON}
PATH_PARAMETERS = {
    "tenant": Parameter("The tenant's slug.", "acme", {"pattern": SLUG}),
    "assistant": Parameter("The assistant's slug.", "support", {"pattern": SLUG}),
    "thread": Parameter("The conversation's id.", THREAD, {"format": "uuid"}),
    "message_id": Parameter("The message's id.", "msg-2", {"pattern": MESSAGE_ID}),
    "run_id": Parameter("The run's id.", "run-1", {"pattern": TEXT, "minLength": 1, "maxLength": MAX_CLIENT_ID}),
    "attachment": Parameter("The file's id.", THREAD, {"format": "uuid"}),
    "document": Parameter("The document's id.", 9, POSITIVE_INTEGER),
}


class Error(ApiSerializer):
    """The body of every error."""

    code = serializers.CharField(help_text="For programs; from a closed list.")
    message = serializers.CharField(help_text="For people; safe to show.")
    fields = serializers.DictField(  # type: ignore[assignment]  # the name is the API's
        child=serializers.ListField(child=serializers.CharField()), help_text="What is wrong with each field."
    )
