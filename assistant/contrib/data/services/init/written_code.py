"""The Python that is added to a project, as black and ruff leave it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import models
from django.utils.translation import override

from assistant.contrib.data.exposing import Exposure
from assistant.contrib.data.services.init.candidates import (
    Candidate,
    Members,
    admin_flag,
    owner_field,
    role_field,
)
from assistant.contrib.data.services.init.exposures import Proposed
from assistant.contrib.data.services.init.project import Project, celery_broker
from assistant.contrib.data.services.managers import usable_manager
from assistant.contrib.data.services.plans import plan_of

EVERYBODY = '"member"'
BEGIN = "# Written by `manage.py assistant_init`, which takes it back with --undo."
_SLUGS = ("slug", "subdomain", "schema_name", "code", "domain")
_NAMES = ("name", "company", "company_name", "title", "display_name", "legal_name", "label")
_ZONES = ("timezone", "time_zone", "tz")
_ACTIVE = ("is_active", "active", "is_enabled", "enabled")


def settings_block(*, apps: Iterable[str], host: str, signs_in: bool, immediate: bool) -> str:
    """Return the lines for the settings.

    Args:
        apps: what is added to INSTALLED_APPS.
        host: the dotted name of the class that describes the tenants.
        signs_in: whether the sign-in page is the assistant's.
        immediate: whether SQLite's transactions are to be immediate.
    """
    lines = [BEGIN, "INSTALLED_APPS = [", "    *INSTALLED_APPS,", *(f'    "{app}",' for app in apps), "]"]
    lines.append(f'ASSISTANT_TENANTS = "{host}"')
    if signs_in:
        lines.append('LOGIN_URL = "assistant:login"')
    if broker := celery_broker():
        lines.append(f"ASSISTANT_REDIS_URL = {broker}")
    if immediate:
        lines.append('DATABASES["default"].setdefault("OPTIONS", {})["transaction_mode"] = "IMMEDIATE"')
    return _joined(lines)


def urls_block(project: Project) -> str:
    """Return the lines for the addresses. They come before the project's own, which may have a route for everything."""
    mount = project.mount
    imports = ["from django.urls import include, path"]
    if not project.has_language_prefixes:
        added = [f'urlpatterns = [path("{mount}", include("assistant.urls")), *urlpatterns]']
    else:
        unprefixed = "" if project.prefixes_default_language else ", prefix_default_language=False"
        imports.insert(0, "from django.conf.urls.i18n import i18n_patterns")
        added = [
            "urlpatterns = [",
            f'    path("{mount}", include("assistant.api_urls")),',
            f'    *i18n_patterns(path("{mount}", include("assistant.page_urls")){unprefixed}),',
            "    *urlpatterns,",
            "]",
        ]
    return _joined([BEGIN, *(f"{line}  # noqa: E402" for line in imports), "", *added])


def asgi_block(project: Project) -> str:
    """Return the lines for the ASGI application."""
    name = project.asgi_name
    imported = "from assistant.routing import with_assistant  # noqa: E402"
    return _joined([BEGIN, imported, "", f"{name} = with_assistant({name})"])


def module_block(
    project: Project,
    *,
    exposed: Sequence[Proposed],
    candidate: Candidate | None,
    everything: Sequence[Proposed],
    tools: Sequence[str],
    class_name: str,
) -> str:
    """Return the lines for an app's module `assistant`.

    Args:
        exposed: the app's models to expose.
        candidate: the tenants, if they are described in this module.
        everything: all models to expose, which the prompt names.
        tools: the names of all tools to switch on for new tenants.
    """
    found = {one.model for one in exposed}
    if candidate is not None and candidate.members is not None and candidate.members.kind == "rows":
        found.add(candidate.members.model)
    imports: dict[str, list[str]] = {}
    if exposed:
        imports["assistant.contrib.data"] = ["expose"]
    if candidate is not None:
        imports["assistant.hosting"] = ["HostTenants", "TenantValues"]
        imports["assistant.models"] = ["Assistant", "ToolSetting"]
        imports["assistant.operations"] = ["draft_prompt", "publish_prompt"]
        if candidate.members is not None and _names_users(candidate.members):
            imports["django.contrib.auth"] = ["get_user_model"]
        if _slug_field(candidate.model) is None:
            imports["django.utils.text"] = ["slugify"]
    for model in sorted(found, key=lambda one: one.__name__):
        imports.setdefault(model.__module__, []).append(model.__name__)
    lines = [BEGIN]
    for module in sorted(imports):
        lines += _import_lines(module, sorted(imports[module]))
    if candidate is not None:
        lines += ["", *_host_lines(project, candidate, exposed_names(everything), tools, class_name)]
        lines += [""] if exposed else []
    for one in exposed:
        lines += ["", *_expose_lines(one)]
    return _joined(lines)


def exposed_names(exposed: Iterable[Proposed]) -> list[str]:
    """Return what models are called in texts."""
    with override(None):
        return [str(one.model._meta.verbose_name_plural) for one in exposed]


def tool_names(exposed: Iterable[Proposed]) -> list[str]:
    """Return the names of the tools that models will have."""
    return [name for one in exposed for name in plan_of(Exposure(model=one.model, fields=one.fields)).tools]


def _host_lines(
    project: Project, candidate: Candidate, things: list[str], tools: Sequence[str], class_name: str
) -> Iterator[str]:
    members = candidate.members
    yield "# Switched on for each new tenant. The tools only read."
    yield from _list_lines("READ_TOOLS = [", tools, "]")
    yield ""
    yield "PROMPT = ("
    yield f'    "You are the assistant of {_quoted(project.name)}. You help the people of {{name}}. "'
    if things:
        yield f'    "You can look up their {_quoted(_enumerated(things))}. "'
    yield '    "Look figures and facts up with your tools instead of guessing, and say which rows an answer is from. "'
    yield '    "If something cannot be found, say so."'
    yield ")"
    yield from ("", "", f"class {class_name}(HostTenants):")
    yield f'    tenant_model = "{candidate.label}"'
    if members is not None:
        yield f'    membership_model = "{members.model._meta.label}"'
    yield from ("", "    def values(self, row):", "        return TenantValues(")
    yield from (f"            {part}," for part in _value_parts(candidate.model))
    yield "        )"
    yield from ("", "    def members(self, row):", *_member_lines(candidate))
    if members is not None and members.kind != "many" and _keys_to(members.model, candidate.model) > 1:
        yield from ("", "    def tenant_of(self, membership):", f"        return membership.{members.tenant_field}")
    name = _name_expression(candidate.model)
    yield from ("", "    def on_created(self, tenant, row):")
    yield '        helper = Assistant.objects.create(tenant=tenant, slug="helper", name="Helper")'
    yield f"        text = PROMPT.format(name={name})"
    yield "        publish_prompt(version=draft_prompt(assistant=helper, text=text))"
    yield "        for name in READ_TOOLS:"
    yield "            ToolSetting.objects.create(tenant=tenant, tool=name)"


def _member_lines(candidate: Candidate) -> Iterator[str]:
    members = candidate.members
    role = role_expression(candidate)
    if members is None:
        yield "        return []"
        return
    if role == EVERYBODY:
        yield '        # Nothing in these models says who is "admin" or "owner": say it here.'
    if members.kind == "many":
        people = f"row.{members.user_field}.all()"
        if members.tenant_field:
            people = f"get_user_model().{usable_manager(get_user_model())}.filter({members.tenant_field}=row)"
        yield f"        for user in {people}:"
        yield f"            yield user, {role}"
        return
    if members.kind == "user":
        query = f"get_user_model().{usable_manager(members.model)}.filter({members.tenant_field}=row)"
        yield f"        for user in {query}:"
        yield f"            yield user, {role}"
        return
    active = next((name for name in _ACTIVE if _has(members.model, name, models.BooleanField)), "")
    conditions = f"{members.tenant_field}=row" + (f", {active}=True" if active else "")
    yield f"        memberships = {members.model.__name__}.{usable_manager(members.model)}.filter({conditions})"
    yield f'        for membership in memberships.select_related("{members.user_field}"):'
    is_optional = members.model._meta.get_field(members.user_field).null
    if is_optional:
        yield f"            if membership.{members.user_field} is None:"
        yield "                continue"
    yield f"            yield membership.{members.user_field}, {role}"


def role_expression(candidate: Candidate) -> str:
    """Return the Python for the role of one of a tenant's people; `EVERYBODY` where nothing of the models tells it."""
    members = candidate.members
    if members is None:
        return EVERYBODY
    name = "membership" if members.kind == "rows" else "user"
    model = get_user_model() if members.kind == "many" else members.model
    told = EVERYBODY if members.kind == "many" else _told_role(name, model)
    if told == EVERYBODY and (owner := owner_field(candidate.model)):
        key = f"membership.{members.user_field}_id" if members.kind == "rows" else "user.pk"
        return f'"owner" if {key} == row.{owner}_id else "member"'
    return told


def _told_role(name: str, model: Any) -> str:
    if flag := admin_flag(model):
        return f'"{"owner" if flag.endswith("owner") else "admin"}" if {name}.{flag} else "member"'
    field = role_field(model)
    if field is None:
        return EVERYBODY
    roles: dict[Any, str] = {}
    for value, label in field.flatchoices:
        text = f"{value} {label}".lower()
        if "owner" in text:
            roles[value] = "owner"
        elif "admin" in text or "manager" in text:
            roles[value] = "admin"
    if not roles:
        return EVERYBODY
    pairs = ", ".join(f"{_literal(value)}: {_literal(role)}" for value, role in roles.items())
    return f'{{{pairs}}}.get({name}.{field.name}, "member")'


def _value_parts(model: Any) -> Iterator[str]:
    slug = _slug_field(model)
    if slug is None:
        # The key makes it unique, and comes first because long ones are cut.
        name = _name_expression(model)
        yield f'slug=slugify(f"{{row.pk}} {{{name}}}")[:60]'
    else:
        yield f"slug=row.{slug.name}"
    yield f"name={_name_expression(model)}"
    if zone := next((name for name in _ZONES if _has(model, name, models.CharField)), ""):
        yield f'timezone=str(row.{zone}) or "UTC"'
    if active := next((name for name in _ACTIVE if _has(model, name, models.BooleanField)), ""):
        yield f"is_active=row.{active}"


def _slug_field(model: Any) -> Any | None:
    for name in _SLUGS:
        field = next((one for one in model._meta.concrete_fields if one.name == name), None)
        if isinstance(field, models.SlugField) and field.unique and not field.null and not field.blank:
            return field
    return None


def _name_expression(model: Any) -> str:
    name = next((name for name in _NAMES if _has(model, name, models.CharField)), "")
    return f"row.{name}" if name else "str(row)"


def _has(model: Any, name: str, kind: type[Any]) -> bool:
    return any(field.name == name and isinstance(field, kind) for field in model._meta.concrete_fields)


def _names_users(members: Members) -> bool:
    return members.kind == "user" or (members.kind == "many" and bool(members.tenant_field))


def _keys_to(model: Any, target: Any) -> int:
    return sum(field.related_model is target for field in model._meta.concrete_fields)


def _expose_lines(one: Proposed) -> Iterator[str]:
    if one.left_out:
        yield f"# Left out of {one.label}: {'; '.join(one.left_out)}."
    yield "expose("
    yield f"    {one.model.__name__},"
    yield from _list_lines("    fields=[", one.fields, "    ],")
    yield from _list_lines("    personal=[", one.personal, "    ],")
    if (name := usable_manager(one.model)) != one.model._meta.default_manager.name:
        yield f'    manager="{name}",'
    yield ")"


def _list_lines(begin: str, values: Sequence[str], end: str) -> Iterator[str]:
    if not values:
        yield begin + end.strip()
        return
    indent = " " * (len(begin) - len(begin.lstrip()) + 4)
    yield begin
    yield from (f"{indent}{_literal(value)}," for value in values)
    yield end


def _import_lines(module: str, names: list[str]) -> Iterator[str]:
    yield f"from {module} import {', '.join(names)}"


def _enumerated(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _quoted(text: str) -> str:
    return text.replace("\\", "").replace('"', "'").replace("{", "").replace("}", "")


def _literal(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
