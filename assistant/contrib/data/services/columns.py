"""Columns of a model, and of rows that it refers to: what kind they are, and which are secret or personal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from assistant.toolkit import InvalidTool
from assistant.toolkit.calls.json_values import is_secret_column

Kind = Literal["text", "choice", "number", "boolean", "date", "datetime", "key", "value"]
# A field with more choices is a text.
MAX_CHOICES = 60

_SECRET = re.compile(
    r"(^|_)(passwords?|passwd|pwd|pass(phrase|code)|secrets?|tokens?|keys?|(api|access|private|secret|auth)key|hash|hashed|digest|salt|otp|totp"
    r"|pin|cvv|cvc|credentials?|signature|nonce|recovery_codes?)($|_)",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"(^|_)(e?mail|(tele)?phone|mobile|cell|fax|address|street|zip|zip_?code|post_?code|postal_?code|birth|birth_?day"
    r"|birth_?date|date_of_birth|dob|ssn|social_security|tax_?id|passport|national_?id|iban|bic|account_number|card"
    r"|ip|ip_address|gender|sex|religion|nationality|ethnicity|salary|wage|diagnosis|medical|health|username"
    r"|(first|last|full|given|family|sur|middle|nick|maiden|contact|recipient|customer|known_as)_?name)($|_|\d)",
    re.IGNORECASE,
)
# In models of these names a column `name` is that of a person.
_PEOPLE = re.compile(
    r"person|people|customer|client|contact|employee|patient|user|member|guest|lead|applicant|student|author|recipient"
    r"|subscriber|visitor",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation on the way to a column: its lookup from the exposed model, and the model that it leads to.

    Attributes:
        title: what people call it: two relations to one model have different names.
    """

    lookup: str
    model: Any
    is_many: bool
    title: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column that rows show, or can be found by.

    Attributes:
        name: as the project has named it, and its lookup from the exposed model.
        field: the field with the values; of a foreign key the one that it refers to.
        own_field: the field of this name.
        relations: those on the way to it; a foreign key itself is one too.
        wording: what an operator says that it is, instead of its name and help text.
    """

    name: str
    field: Any
    own_field: Any
    kind: Kind
    relations: tuple[Relation, ...]
    is_personal: bool
    wording: str = ""

    @property
    def is_own(self) -> bool:
        """Whether the value is a column of the row itself, and no reference."""
        return not self.relations

    @property
    def is_many(self) -> bool:
        """Whether a row has many values of it."""
        return any(relation.is_many for relation in self.relations)

    @property
    def is_number(self) -> bool:
        """Whether values can be added up: numbers that are no keys and no choices."""
        return self.kind == "number" and not self.field.primary_key

    @property
    def title(self) -> str:
        """What people call it."""
        names = [relation.title for relation in self.relations]
        if self.relations and self.own_field.is_relation:
            names.pop()
        return " ".join([*names, str(getattr(self.own_field, "verbose_name", self.own_field.name))])


def column_of(model: Any, name: str, *, depth: int) -> Column:
    """Return the column of a name such as `customer__country__name`.

    Raises:
        InvalidTool: there is none, or it is further away than `depth` relations.
    """
    relations: list[Relation] = []
    at = model
    own_field: Any = None
    parts = name.split("__")
    for position, part in enumerate(parts):
        if at is None:
            raise InvalidTool(f"expose({model._meta.label}): {name!r} goes on after a column.")
        try:
            own_field = at._meta.pk if part == "pk" else at._meta.get_field(part)
        except FieldDoesNotExist as exc:
            raise InvalidTool(f"expose({model._meta.label}): {name!r} is no column. {exc}.") from exc
        at = None
        if own_field.is_relation:
            at = getattr(own_field, "related_model", None)
            if at is None:
                raise InvalidTool(f"expose({model._meta.label}): {name!r} leads to rows of any model.")
            is_many = bool(own_field.many_to_many or own_field.one_to_many)
            # A relation that leads back to rows has no name of its own.
            title = str(getattr(own_field, "verbose_name", None) or at._meta.verbose_name)
            relations.append(Relation("__".join(parts[: position + 1]), at, is_many, title))
    if len(relations) > depth:
        raise InvalidTool(f"expose({model._meta.label}): {name!r} leads over more than {depth} relations.")
    field = _key_of(own_field) if own_field.is_relation else own_field
    kind: Kind = "key" if own_field.is_relation else kind_of(field)
    return Column(name, field, own_field, kind, tuple(relations), _looks_personal(own_field))


def _key_of(relation: Any) -> Any:
    """Return the field with the values of a relation: what a foreign key refers to, else the primary key."""
    is_own = isinstance(relation, models.ForeignKey)
    return without_relations(relation.target_field if is_own else relation.related_model._meta.pk)


def without_relations(field: Any) -> Any:
    """Return the field that a foreign key leads to at last; any other itself."""
    while field.is_relation:
        field = field.target_field
    return field


def kind_of(field: Any) -> Kind:
    """Return what a field's values are."""
    if field.choices and len(field.flatchoices) <= MAX_CHOICES:
        return "choice"
    if isinstance(field, models.BooleanField):
        return "boolean"
    if isinstance(field, models.DateTimeField):
        return "datetime"
    if isinstance(field, models.DateField):
        return "date"
    if field.primary_key or isinstance(field, models.UUIDField):
        return "key"
    if isinstance(field, models.IntegerField | models.FloatField | models.DecimalField):
        return "number"
    if isinstance(field, models.FileField):
        return "value"
    if isinstance(field, models.CharField | models.TextField | models.GenericIPAddressField):
        return "text"
    return "value"


def looks_secret_name(name: str) -> bool:
    """Whether a value of this name may not be shown."""
    return bool(_SECRET.search(name))


def looks_personal_name(name: str) -> bool:
    """Whether a value of this name looks personal."""
    return bool(_PERSONAL.search(name))


def looks_secret(column: Column) -> bool:
    """Whether a column may not be shown or searched: by its name, its type, or a relation on the way."""
    names = [*column.name.split("__"), getattr(column.own_field, "column", "") or "", column.field.name]
    if any(_SECRET.search(name) for name in names):
        return True
    fields = [column.field, column.own_field]
    return any(
        isinstance(field, models.BinaryField) or (isinstance(field, models.Field) and is_secret_column(field))
        for field in fields
    )


def _looks_personal(field: Any) -> bool:
    if field.is_relation or field.primary_key:
        return False
    if isinstance(field, models.EmailField | models.GenericIPAddressField):
        return True
    if issubclass(get_user_model(), field.model) and isinstance(field, models.CharField):
        return True
    return bool(_PERSONAL.search(field.name)) or (field.name == "name" and bool(_PEOPLE.search(field.model.__name__)))
