"""The format of bundles: strict models of the JSON file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from django.db import models
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model, model_validator

from assistant.models import Assistant, Tenant, TenantLimits
from assistant.models.limits import OF_ATTACHMENTS, OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.prompts import MAX_NAME, MAX_VALUE, MAX_VARIABLES
from assistant.models.toolblocks import MAX_REASON
from assistant.services.assistants.configuration import MAX_MODEL_NAME, MAX_OTHER_MODELS
from assistant.toolkit.validation_errors import problems

FORMAT: Final = "tenant-assistant/bundle"
VERSION: Final = 1
MAX_BYTES = 1024 * 1024
MAX_PROBLEMS, MAX_PROBLEM_LENGTH = 10, 200
MAX_ASSISTANTS = 200
MAX_TOOLS = 2_000

Code = Literal["too_large", "not_json", "another_version", "invalid"]
Slug = Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,63}$")]
Text = Annotated[str, StringConstraints(max_length=500)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Model = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MODEL_NAME)]
ToolName = Annotated[str, StringConstraints(max_length=128)]
_Number = Annotated[int, Field(ge=0, le=2**63 - 1)] | None
_Money = Annotated[Decimal, Field(ge=0, max_digits=14, decimal_places=2)] | None


class BundleError(ValueError):
    """The file is not a bundle that can be imported. `problems` say why, each with the place in the file."""

    def __init__(self, code: Code, problems: Iterable[str]) -> None:
        self.code = code
        self.problems = tuple(problem[:MAX_PROBLEM_LENGTH] for problem in problems)[:MAX_PROBLEMS]
        super().__init__("; ".join(self.problems))


class Part(BaseModel):
    """A part of a bundle: unknown keys are refused, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ProviderName(Part):
    """A provider by its name; `of` says whose it was: the tenant's own or the deployment's."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    of: Literal["tenant", "deployment"]


class ToolPart(Part):
    """The switch of a tool with its settings; never its secrets."""

    tool: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    policy: Literal["on", "ask", "off"]
    reason: Annotated[str, StringConstraints(max_length=MAX_REASON)] = ""
    # A moment in ISO 8601 with its offset.
    until: Annotated[str, StringConstraints(max_length=40)] | None = None
    config: dict[str, Any]

    @model_validator(mode="after")
    def _has_a_moment(self) -> ToolPart:
        if self.until is not None and datetime.fromisoformat(self.until).tzinfo is None:
            raise ValueError("until: the moment has no offset from UTC")
        return self

    @property
    def ends_at(self) -> datetime | None:
        return None if self.until is None else datetime.fromisoformat(self.until)


class VariablePart(Part):
    """A variable of the tenant's own, which prompts name."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    value: Annotated[str, StringConstraints(max_length=MAX_VALUE)]


def _type_of(column: Any) -> Any:
    """Return the type of a column's values in a bundle, bounded as the column is."""
    kind: Any
    if column.choices:
        kind = Literal[(*(value for value, _ in column.flatchoices), *([""] if column.blank else ()))]
    elif isinstance(column, models.BooleanField):
        kind = bool
    elif isinstance(column, models.CharField):
        kind = Annotated[str, StringConstraints(min_length=0 if column.blank else 1, max_length=column.max_length)]
    elif isinstance(column, models.DecimalField):
        digits: int | None = column.max_digits
        places: int | None = column.decimal_places
        kind = Annotated[Decimal, Field(ge=0, max_digits=digits, decimal_places=places)]
    elif isinstance(column, models.PositiveIntegerField):
        kind = Count
    else:
        raise TypeError(f"Declare {column} in its part of bundles: nothing says what its values are.")
    return kind | None if column.null else kind


def with_columns(part: type[Part], model: type[models.Model], names: Iterable[str]) -> type[Part]:
    """Return `part` with a field for each of these columns that it does not declare.

    A file may leave out a column that has a default: it then stays as it is, so that files from before it can be read.
    """
    columns: list[Any] = [model._meta.get_field(name) for name in names if name not in part.model_fields]
    fields: dict[str, Any] = {
        column.name: (_type_of(column), column.get_default() if column.has_default() else ...) for column in columns
    }
    return create_model(part.__name__.removeprefix("Declared"), __base__=part, __doc__=part.__doc__, **fields)


class DeclaredSettingsPart(Part):
    """The settings of a tenant that assistants depend on; not its name, time zone or state."""

    default_provider: ProviderName | None
    fallback_provider: ProviderName | None = None


class DeclaredAssistantPart(Part):
    """An assistant with its published prompt and its switches."""

    slug: Slug
    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    provider: ProviderName | None
    fallback_provider: ProviderName | None = None
    other_models: Annotated[list[_Model], Field(max_length=MAX_OTHER_MODELS)]
    temperature: Annotated[float, Field(ge=0, le=2)] | None
    starters: list[str]
    translations: dict[str, Any] = {}
    extensions: Annotated[list[Annotated[str, StringConstraints(max_length=100)]], Field(max_length=50)] = []
    answer_schema: dict[str, Any] | None
    prompt: Annotated[str, StringConstraints(min_length=1)] | None
    tools: Annotated[list[ToolPart], Field(max_length=MAX_TOOLS)]

    @model_validator(mode="after")
    def _has_no_doubles(self) -> DeclaredAssistantPart:
        check_doubles("tools", [part.tool for part in self.tools])
        return self


if TYPE_CHECKING:
    SettingsPart = DeclaredSettingsPart
    AssistantPart = DeclaredAssistantPart
else:
    SettingsPart = with_columns(
        DeclaredSettingsPart,
        Tenant,
        (
            "fallback_model",
            "ends_runs_on_tool_failure",
            "after_untrusted",
            "trusts_documents",
            "shows_usage",
            "approvals_by_others",
            "chat_reading",
        ),
    )
    AssistantPart = with_columns(
        DeclaredAssistantPart,
        Assistant,
        [column.name for column in Assistant._meta.fields if column.editable and column.name not in ("id", "tenant")],
    )

# The columns of an assistant, and of a tenant, that refer to providers.
ASSISTANT_PROVIDERS = ("provider", "fallback_provider")
TENANT_PROVIDERS = ("default_provider", "fallback_provider")
# What is a column of `Assistant` and is compared as it is.
ASSISTANT_COLUMNS = tuple(
    name for name in AssistantPart.model_fields if name not in ("slug", *ASSISTANT_PROVIDERS, "prompt", "tools")
)


def _limits() -> dict[str, Any]:
    names = (*OF_TENANT, *OF_MEMBER, *OF_END_USER)
    columns = ((name, TenantLimits._meta.get_field(name)) for name in names)
    numbers = {name: (_Money if isinstance(column, models.DecimalField) else _Number, ...) for name, column in columns}
    # Bundles of earlier versions are without these.
    later: dict[str, Any] = dict.fromkeys(("tenant_turns", *OF_ATTACHMENTS), (_Number, None))
    return {**numbers, **later, "attachment_kinds": (Text, "")}


# A field for each column of `TenantLimits`.
LimitsPart: type[Part] = create_model("LimitsPart", __base__=Part, **_limits())


class Bundle(Part):
    """A whole file. Of the kind `assistant` it has one assistant and nothing of its tenant."""

    format: Literal["tenant-assistant/bundle"]
    version: Literal[1]
    kind: Literal["tenant", "assistant"]
    settings: SettingsPart | None = None
    limits: LimitsPart | None = None
    variables: Annotated[list[VariablePart], Field(max_length=MAX_VARIABLES)] = Field(default_factory=list)
    tools: Annotated[list[ToolPart], Field(max_length=MAX_TOOLS)] = Field(default_factory=list)
    assistants: Annotated[list[AssistantPart], Field(max_length=MAX_ASSISTANTS)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_consistent(self) -> Bundle:
        if self.kind == "assistant":
            has_more = self.settings or self.limits or self.variables or self.tools
            if has_more or len(self.assistants) != 1:
                raise ValueError("a bundle of the kind assistant has one assistant and nothing of its tenant")
        check_doubles("assistants", [part.slug for part in self.assistants])
        check_doubles("tools", [part.tool for part in self.tools])
        check_doubles("variables", [part.name for part in self.variables])
        return self


def check_doubles(where: str, names: list[str]) -> None:
    """Raise `ValueError` if a list of a bundle has the same name twice."""
    if len(set(names)) != len(names):
        raise ValueError(f"{where} has the same name twice")


def invalid(exc: ValidationError) -> BundleError:
    """Return the error for values that are not allowed."""
    return BundleError("invalid", [f"{path}: {problem}" for path, problem in problems(exc, root="bundle")])
