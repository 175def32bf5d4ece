"""Two tenants with the same kinds of rows, made from the project's models within their constraints."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.db import DatabaseError, models, transaction
from django.db.models.fields.files import FieldFile
from django.utils import timezone
from django.utils.module_loading import module_has_submodule

from assistant import optional_apps
from assistant.contrib.data.services.columns import column_of, looks_secret
from assistant.hosting import get_host, sync_all
from assistant.models import Membership, Tenant
from assistant.services.tenancy.host import host_model
from assistant.toolkit import InvalidTool
from assistant.toolkit.guards.tenant_paths import concrete, generic_keys, tenant_models

ROWS = 4
SHARED = "shared"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TRIES = 4
# What a model, its signals and its constraints raise for a row that they do not take.
_REFUSED = (DatabaseError, TypeError, ValueError, AttributeError, LookupError, ValidationError, OSError)
# Members of each tenant, and the roles that they have.
PEOPLE = (("member", Membership.Role.MEMBER), ("admin", Membership.Role.ADMIN))


@dataclass(frozen=True, slots=True)
class Mark:
    """What a text in the database is: whose row's, and which column's."""

    owner: str
    model: str
    column: str
    is_secret: bool


@dataclass
class Seeded:
    """The tenants and their rows.

    Attributes:
        tenants: the assistant's tenants by name: "a" and "b".
        rows: rows by owner ("a", "b", `SHARED`) and model.
        people: users by owner and part: "member", "admin"; of "a" also "end user", "both" and "staff".
        marks: what each generated text is.
        left: models that no row could be made of, with the reason.
    """

    tenants: dict[str, Tenant] = field(default_factory=dict)
    host_rows: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, dict[Any, list[Any]]] = field(default_factory=dict)
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


def seeded_models() -> list[Any]:
    """Return the project's models that are seeded and watched: all with tables but Django's and the assistant's own."""
    ours = optional_apps.labels()
    return [
        model
        for model in apps.get_models()
        if model._meta.app_label not in ours and not model.__module__.startswith("django.")
        if model._meta.managed and not model._meta.proxy and not model._meta.swapped
    ]


class Seeder:
    """Makes the tenants; `grow` adds more rows to the second one."""

    def __init__(self) -> None:
        self.seeded = Seeded()
        self._count = 0
        self._now = timezone.now().replace(microsecond=0)
        self._factories = _factories()
        self._models = [model for model in seeded_models() if concrete(model) not in (get_user_model(), host_model())]

    def seed(self) -> Seeded:
        """Make both tenants with their people and rows, and rows that belong to nobody."""
        seeded = self.seeded
        seeded.rows[SHARED] = {}
        self._make_rows(SHARED, range(ROWS))
        for owner in ("a", "b"):
            seeded.rows[owner] = {}
            seeded.people[owner] = {}
            self._make_tenant(owner)
        for owner in ("a", "b"):
            for part, _ in PEOPLE:
                seeded.people[owner][part] = self._make_user(owner)
            seeded.rows[owner][get_user_model()] = list(seeded.people[owner].values())
        self._make_both()
        for number in range(ROWS):
            # One after the other, so that keys of both tenants differ.
            for owner in ("a", "b"):
                self._make_rows(owner, [number])
        if (host := get_host()) is not None:
            sync_all(host)
        self._make_members()
        return seeded

    def grow(self) -> None:
        """Add rows of each kind to the second tenant."""
        self._make_rows("b", range(ROWS, ROWS + 3))

    def cross(self) -> None:
        """Relate rows of both tenants with each other in each many-to-many field that takes them."""
        for model in self._models:
            for relation in model._meta.many_to_many:
                related = concrete(relation.related_model)
                if self._is_shared(model) or self._is_shared(related) or related in (get_user_model(), host_model()):
                    continue
                for owner, other in (("a", "b"), ("b", "a")):
                    for target in self.seeded.rows[other].get(related, [])[:1]:
                        self._cross(relation, owner, self.seeded.rows[owner].get(model, []), target)

    def _cross(self, relation: Any, owner: str, rows: list[Any], target: Any) -> None:
        through = relation.remote_field.through
        ends = (relation.m2m_field_name(), relation.m2m_reverse_field_name())
        for number, row in enumerate(rows):
            values = {} if through._meta.auto_created else dict(self._values(through, owner, number, 0))
            defaults = {name: value for name, value in values.items() if name not in ends}
            with suppress(*_REFUSED), transaction.atomic():
                getattr(row, relation.name).add(target, through_defaults=defaults)

    def _make_tenant(self, owner: str) -> None:
        model = host_model()
        if model is None:
            slug = f"prove-{owner}"
            self.seeded.tenants[owner] = Tenant.objects.create(slug=slug, name=f"{slug}-{self._token(owner)}")
            return
        row = self._made(model, owner, 0)
        if row is None:
            reason = self.seeded.left.get(model._meta.label, "")
            raise InvalidTool(f"No tenant can be made of {model._meta.label}: {reason}")
        self.seeded.host_rows[owner] = row
        self.seeded.rows[owner][model] = [row]

    def _make_user(self, owner: str) -> Any:
        user = self._made(get_user_model(), owner, len(self.seeded.people[owner]))
        if user is None:
            label = get_user_model()._meta.label
            raise InvalidTool(f"No user can be made of {label}: {self.seeded.left.get(label, '')}")
        return user

    def _make_both(self) -> None:
        """Make a member of both tenants, who rows of both refer to where the project's memberships are rows."""
        seeded = self.seeded
        marks = dict(seeded.marks)
        both = self._make_user("a")
        # Both tenants may know of a member of both.
        seeded.marks = marks
        seeded.people["a"]["both"] = both
        joined = [self._join(both, owner) for owner in ("a", "b")]
        if all(joined):
            for owner in ("a", "b"):
                seeded.rows[owner][get_user_model()].append(both)

    def _make_members(self) -> None:
        seeded = self.seeded
        for owner, row in seeded.host_rows.items():
            seeded.tenants[owner] = Tenant.objects.get(external_id=str(row.pk))
        seeded.people["a"]["end user"] = self._make_user("a")
        seeded.people["a"]["staff"] = self._make_staff()
        roles = dict(PEOPLE) | {
            "end user": Membership.Role.END_USER,
            "both": Membership.Role.MEMBER,
            "staff": Membership.Role.ADMIN,
        }
        for owner, people in seeded.people.items():
            for part, user in people.items():
                _be_member(seeded.tenants[owner], user, roles[part])
        _be_member(seeded.tenants["b"], seeded.people["a"]["both"], Membership.Role.MEMBER)

    def _make_staff(self) -> Any:
        """Make a user who may open everything in the admin."""
        user = self._make_user("a")
        names = {one.name for one in user._meta.concrete_fields}
        flags = [name for name in ("is_staff", "is_superuser") if name in names]
        for name in flags:
            setattr(user, name, True)
        if flags:
            user.save(update_fields=flags)
        self._join(user, "a")
        return user

    def _join(self, user: Any, owner: str) -> bool:
        """Make a user a member of a tenant in the project's own rows, where memberships are rows; return whether."""
        host = get_host()
        if host is None or not host.membership_model or owner not in self.seeded.host_rows:
            return False
        model = apps.get_model(host.membership_model)
        if model is get_user_model():
            return False
        row = self.seeded.host_rows[owner]
        values = dict(self._values(model, owner, 0, 0))
        for one in model._meta.concrete_fields:
            if one.related_model is get_user_model():
                values[one.name] = user
            elif one.related_model is type(row):
                values[one.name] = row
        with suppress(*_REFUSED), transaction.atomic():
            model(**values).save()
            return True
        return False

    def _make_rows(self, owner: str, numbers: Iterable[int]) -> None:
        models_left = [model for model in self._models if self._is_shared(model) == (owner == SHARED)]
        for number in numbers:
            waiting = list(models_left)
            for _ in range(len(waiting)):
                still = [model for model in waiting if not self._is_ready(model, owner)]
                for model in waiting:
                    if model not in still:
                        self._keep(owner, model, self._made(model, owner, number))
                if not still or len(still) == len(waiting):
                    break
                waiting = still

    def _is_shared(self, model: Any) -> bool:
        return not tenant_models().ways(model)

    def _is_ready(self, model: Any, owner: str) -> bool:
        for one in _required(model):
            related = one.related_model
            if related is model or related is ContentType:
                continue
            if not self._choices(related, owner):
                return False
        return True

    def _keep(self, owner: str, model: Any, row: Any | None) -> None:
        if row is not None:
            self.seeded.rows[owner].setdefault(model, []).append(row)

    def _made(self, model: Any, owner: str, number: int) -> Any | None:
        """Return a new row; None if the model's constraints refuse all that were tried."""
        factory = self._factories.get(model)
        for attempt in range(_TRIES):
            values = dict(self._values(model, owner, number, attempt))
            try:
                with transaction.atomic():
                    row = factory.create(**_given_to_factory(values)) if factory is not None else model(**values)
                    if factory is None:
                        row.save()
                    if number != ROWS - 1:
                        _show(row)
                    self._add_many(row, owner)
            except _REFUSED as exc:
                self.seeded.left[model._meta.label] = f"{type(exc).__name__}: {exc}"[:200]
                continue
            self.seeded.left.pop(model._meta.label, None)
            self._mark(row, owner)
            return row
        return None

    def _add_many(self, row: Any, owner: str) -> None:
        for relation in row._meta.many_to_many:
            if relation.remote_field.through._meta.auto_created and (
                chosen := self._choices(relation.related_model, owner)
            ):
                getattr(row, relation.name).add(*chosen)

    def _values(self, model: Any, owner: str, number: int, attempt: int) -> Iterator[tuple[str, Any]]:
        generic = {one.ct_field: one for one in generic_keys(model._meta)}
        for place, one in enumerate(model._meta.concrete_fields):
            if one.name in generic:
                if target := self._first_row(owner):
                    yield one.name, ContentType.objects.get_for_model(target)
                    yield generic[one.name].fk_field, target.pk
                continue
            if any(one.name == other.fk_field for other in generic.values()) or _is_made_by_itself(one):
                continue
            if one.is_relation:
                value = self._related(one, model, owner, number)
                if value is not None:
                    yield one.name, value
                continue
            value = self._value(one, owner, number, place, attempt)
            if value is not None:
                yield one.name, value

    def _related(self, one: Any, model: Any, owner: str, number: int) -> Any | None:
        if one.remote_field.parent_link:
            return None
        choices = self._choices(one.related_model, owner)
        if one.related_model is model:
            return choices[0] if choices and number else None
        if isinstance(one, models.OneToOneField):
            return choices[number] if number < len(choices) else None
        return choices[number % len(choices)] if choices else None

    def _choices(self, model: Any, owner: str) -> list[Any]:
        found = self.seeded.rows.get(owner, {}).get(model) or self.seeded.rows[SHARED].get(model) or []
        if not found and model is Tenant and owner in self.seeded.tenants:
            return [self.seeded.tenants[owner]]
        if not found and model.__module__.startswith("django.contrib.contenttypes"):
            return list(ContentType.objects.all()[:1])
        return list(found)

    def _first_row(self, owner: str) -> Any | None:
        rows = (found[0] for model, found in self.seeded.rows[owner].items() if found and model is not get_user_model())
        return next(rows, None)

    def _token(self, owner: str) -> str:
        self._count += 1
        number = self._count
        digits = ""
        for _ in range(4):
            number, rest = divmod(number, 36)
            digits = _DIGITS[rest] + digits
        return f"zq{owner[0]}{digits}"

    def _value(self, one: Any, owner: str, number: int, place: int, attempt: int) -> Any:
        """Return a value of a column; None to leave it to the model."""
        column = tenant_models().declared.get(one.model)
        if column is not None and column.lookup == one.name:
            row = self.seeded.host_rows.get(owner)
            return None if row is None else row.pk
        if one.choices:
            values = [value for value, _ in one.flatchoices if value not in ("", None)]
            return values[(number + attempt) % len(values)] if values else None
        if isinstance(one, models.FileField):
            # Storage elsewhere refuses it.
            return self._file(owner) if attempt == 0 else None
        if isinstance(one, models.BooleanField):
            return self._flag(one, number)
        return self._plain(one, owner, number + attempt * ROWS, place)

    def _file(self, owner: str) -> ContentFile[bytes]:
        return ContentFile(f"The text of {self._token(owner)}.".encode(), name=f"{self._token(owner)}.txt")

    def _flag(self, one: Any, number: int) -> bool:
        if one.model in (get_user_model(), host_model()) or one.name == "is_active":
            return one.name.endswith("active") or bool(one.get_default())
        return bool(one.get_default()) if number == 0 else number % 2 == 1

    def _plain(self, one: Any, owner: str, number: int, place: int) -> Any:
        if isinstance(one, models.CharField | models.TextField):
            return self._text(one, owner)
        if isinstance(one, models.UUIDField):
            return uuid.uuid4()
        if isinstance(one, models.JSONField):
            return {"note": self._token(owner)}
        if isinstance(one, models.BinaryField):
            return self._token(owner).encode()
        if isinstance(one, models.GenericIPAddressField):
            return f"10.{ord(owner[0]) % 250}.{place}.{number % 250}"
        if isinstance(one, models.DecimalField | models.IntegerField | models.FloatField):
            return self._figure(one, owner, number)
        return self._time(one, _days_ago(owner, number), number, place)

    def _figure(self, one: Any, owner: str, number: int) -> Any:
        """Return a number. The first row that is added later has the smallest, the next ones the largest."""
        is_smallest = number == ROWS
        if isinstance(one, models.DecimalField):
            most = 10 ** (one.max_digits - one.decimal_places) - 1
            return Decimal(1 if is_smallest and not one.unique else min(self._number(owner, number), most))
        if isinstance(one, models.SmallIntegerField | models.PositiveSmallIntegerField):
            return 0 if is_smallest and not one.unique else number + 1
        is_name = one.unique or one.name.endswith(("number", "code"))
        return self._number(owner, number) if is_name else 0 if is_smallest else number * 7 + 3

    def _time(self, one: Any, days: int, number: int, place: int) -> Any:
        """Return a value of a column of time: later columns of a row have later ones."""
        if isinstance(one, models.DateTimeField):
            return self._now - dt.timedelta(days=days) + dt.timedelta(hours=place)
        if isinstance(one, models.DateField):
            return (self._now - dt.timedelta(days=days)).date() + dt.timedelta(days=place)
        if isinstance(one, models.TimeField):
            return dt.time(8 + number % 8, place % 60)
        return dt.timedelta(hours=number + 1) if isinstance(one, models.DurationField) else None

    def _number(self, owner: str, number: int) -> int:
        return {"a": 4100, "b": 5200}.get(owner, 6300) + number

    def _text(self, one: Any, owner: str) -> str:
        token = self._token(owner)
        if isinstance(one, models.EmailField):
            return f"{token}@prove.example"
        if isinstance(one, models.URLField):
            return f"https://prove.example/{token}"
        if one.name in ("timezone", "time_zone", "tz"):
            return "UTC"
        if one.name == "role":
            return str(one.get_default() or "member")
        if one.name in ("currency", "language", "locale", "country_code") and one.max_length and one.max_length < 7:
            return str(one.get_default() or "EUR")[: one.max_length]
        return token[-one.max_length :] if one.max_length else token

    def _mark(self, row: Any, owner: str) -> None:
        for one in row._meta.concrete_fields:
            value = getattr(row, one.attname)
            if isinstance(value, uuid.UUID) and one.primary_key:
                self.seeded.marks[str(value)] = Mark(owner, row._meta.label, one.name, is_secret=False)
            values = list(value.values()) if isinstance(value, dict) else [value]
            if isinstance(value, FieldFile) and value:
                with value.open() as file:
                    values = [value.name, file.read()]
            for stored in values:
                text = stored.decode("latin-1") if isinstance(stored, bytes) else stored
                if isinstance(text, str) and "zq" in text and len(text) >= 6:
                    token = text[text.index("zq") :][:7]
                    is_secret = looks_secret(column_of(type(row), one.name, depth=0))
                    self.seeded.marks[token] = Mark(owner, row._meta.label, one.name, is_secret)


def _show(row: Any) -> None:
    """Empty the times that hide a row from its model's manager, such as when it was archived."""
    if type(row)._default_manager.filter(pk=row.pk).exists():
        return
    for one in row._meta.concrete_fields:
        if one.null and isinstance(one, models.DateField):
            setattr(row, one.name, None)
    row.save()


def _days_ago(owner: str, number: int) -> int:
    """Return how long ago times of a row are. The second tenant has the newest, and later ones in the future."""
    if owner != "b":
        return 3 * number + 1
    return 3 * number if number != ROWS + 1 else -30


def _be_member(tenant: Tenant, user: Any, role: str) -> None:
    Membership.objects.update_or_create(tenant=tenant, user=user, defaults={"role": role})


def _required(model: Any) -> Iterator[Any]:
    for one in model._meta.concrete_fields:
        if one.is_relation and not one.null and not one.has_default() and hasattr(one.related_model, "_meta"):
            yield one


def _is_made_by_itself(one: Any) -> bool:
    if one.primary_key and not one.is_relation:
        return isinstance(one, models.AutoField) or one.has_default()
    return bool(
        getattr(one, "auto_now", False) or getattr(one, "auto_now_add", False) or getattr(one, "generated", False)
    )


def _factories() -> dict[Any, Any]:
    """Return the factories of factory_boy by their models: those in apps' modules `factories` and `tests.factories`."""
    found: dict[Any, Any] = {}
    for app in apps.get_app_configs():
        names = ["factories"] if module_has_submodule(app.module, "factories") else []
        if module_has_submodule(app.module, "tests") and not names:
            tests = import_module(f"{app.name}.tests")
            names = (
                ["tests.factories"] if hasattr(tests, "__path__") and module_has_submodule(tests, "factories") else []
            )
        for name in names:
            for factory in vars(import_module(f"{app.name}.{name}")).values():
                model = getattr(getattr(factory, "_meta", None), "model", None)
                if model is not None and hasattr(factory, "create"):
                    found.setdefault(model, factory)
    return found


def _given_to_factory(values: dict[str, Any]) -> dict[str, Any]:
    """Return what a factory is told: whose rows they are, and texts by which they are known."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, models.Model) or (isinstance(value, str) and value.startswith("zq"))
    }
