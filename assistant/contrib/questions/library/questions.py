"""The tool with which the assistant asks the person, who answers in a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel, Field

from assistant.toolkit import Example, Param, Question, ToolError, tool
from assistant.toolkit.schema.json_schema import JsonSchema

MAX_FIELDS = 12
MAX_OPTIONS = 30
MAX_ANSWER = 4_000
# The answer to an approval has these names, and a question's must not look like one.
TAKEN = frozenset({"approved", "editedArgs", "reason", "response"})

_TYPES: Mapping[str, JsonSchema] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 200},
    "long_text": {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER},
    "number": {"type": "number"},
    "date": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"},
    "yes_no": {"type": "boolean"},
}


class AskedField(BaseModel):
    """One field of the form."""

    name: str = Field(description="A short name without spaces.", pattern="^[a-zA-Z][a-zA-Z0-9_]{0,39}$")
    label: str = Field(description="What the person reads beside it.", min_length=1, max_length=120)
    kind: Literal["text", "long_text", "number", "date", "choice", "several", "yes_no"]
    options: list[Annotated[str, Field(min_length=1, max_length=120)]] = Field(
        default=[], description="For choice and several: what to choose from.", max_length=MAX_OPTIONS
    )
    required: bool = True


def _schema_of(field: AskedField) -> JsonSchema:
    if field.kind == "choice":
        schema: JsonSchema = {"enum": field.options}
    elif field.kind == "several":
        least = {"minItems": 1} if field.required else {}
        schema = {"type": "array", "items": {"enum": field.options}, "uniqueItems": True, **least}
    else:
        schema = dict(_TYPES[field.kind])
    return {**schema, "title": field.label}


def _question(arguments: Mapping[str, Any]) -> Question:
    fields: list[AskedField] = arguments["fields"]
    names = [field.name for field in fields]
    if len(set(names)) < len(names) or not TAKEN.isdisjoint(names):
        raise ToolError(f"Each field has a name of its own, and none is {', '.join(sorted(TAKEN))}.")
    if empty := [field.name for field in fields if field.kind in {"choice", "several"} and not field.options]:
        raise ToolError(f"{empty[0]} needs options.")
    return Question(
        arguments["question"],
        {
            "type": "object",
            "properties": {field.name: _schema_of(field) for field in fields},
            "required": [field.name for field in fields if field.required],
            "additionalProperties": False,
        },
    )


@tool(
    title=_("Ask a question"),
    read_only=True,
    asks=_question,
    examples=[
        Example(
            "book me a table at the Quux",
            {
                "question": "When, and for how many?",
                "fields": [
                    {"name": "day", "label": "Day", "kind": "date"},
                    {"name": "people", "label": "How many people", "kind": "number"},
                ],
            },
            result='{"day":"2111-02-03","people":4}',
            answer="A table for four at the Quux on 3 February 2111.",
        )
    ],
)
def ask_user(
    question: Annotated[str, Param("The question, in one or two sentences.", min_length=1, max_length=1000)],
    fields: Annotated[list[AskedField], Param("The fields of the form.", min_length=1, max_length=MAX_FIELDS)],
) -> dict[str, Any]:
    """Ask the user for what only the user knows, with a form; the result is what they answered."""
    raise ToolError("Nobody can be asked here.")
