"""Fills a tenant with rows of every model, in which each text is a canary that must not appear elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.core import serializers
from django.core.files.base import ContentFile
from django.db import models
from django.utils import timezone

from assistant.mcp_client import ToolDefinition
from assistant.models import Tenant
from assistant.optional_apps import labels
from tests.base import Cast

# A host project has no shop of ours.
APPS = tuple(app for app in (*sorted(labels()), "tools") if app in apps.app_configs)
# A search for the first half must not return the whole.
CANARY_HEAD = "zeisig"
CANARY = f"{CANARY_HEAD}7319"
# What the client of a planted conversation calls it. Not the canary: clients are told the names that they gave.
THREAD_KEY = "a thread of theirs"

_DEFINITION = ToolDefinition(CANARY, description=CANARY)
# Values of fields that do not accept any text.
FIXED: Mapping[str, Any] = {
    "assistant.ApiKey.scopes": ["chat", "read"],
    "assistant.ApiKey.revoked_at": None,
    # A tenant that does not want its brand on the sign-in page: nobody sees it there.
    "assistant_branding.Brand.is_on_sign_in": False,
    # Whoever knows the address of a logo may see it: the sign-in page and other sites show it.
    "assistant_branding.BrandImage.data": b"a picture",
    "assistant_branding.BrandImage.media_type": "image/png",
    "assistant.Conversation.is_stateless": False,
    "assistant.Conversation.is_temporary": False,
    "assistant.Conversation.archived_at": None,
    "assistant.Conversation.test_tools": "",
    # The check of documents finds its passage in what is planted.
    "assistant_gaps.QuestionLabel.is_lost": False,
    "assistant_evaluations.EvaluationCase.history": [{"role": "user", "content": CANARY}],
    "assistant_evaluations.EvaluationCase.recorded": [
        {"name": CANARY, "arguments": f'{{"a": "{CANARY}"}}', "result": CANARY, "sources": [CANARY]}
    ],
    "assistant_evaluations.EvaluationResult.calls": [
        {
            "name": CANARY,
            "arguments": CANARY,
            "result": CANARY,
            "status": "ok",
            "answered": "recorded",
            "asks": False,
            "agent": "",
        }
    ],
    "assistant_change_sets.ChangeSet.items": [{"kind": "prompt", "assistant": "", "name": "", "value": CANARY}],
    # A draft: others begin and end by themselves.
    "assistant_change_sets.ChangeSet.state": "draft",
    "assistant_change_sets.AppliedChange.before": None,
    "assistant_change_sets.AppliedChange.after": CANARY,
    "assistant_change_sets.AppliedChange.percent": 100,
    "assistant_insights.WarningSettings.percentages": [50],
    "assistant_insights.WarningSettings.emails": [f"{CANARY}@example.com"],
    "assistant_invitations.Invitation.accepted_at": None,
    "assistant_invitations.Invitation.accepted_by": None,
    "assistant_invitations.Invitation.revoked_at": None,
    "assistant.Message.tool_calls": [],
    "assistant.Message.attachments": [
        {"id": str(uuid.UUID(int=7)), "name": CANARY, "mediaType": "text/plain", "size": 1}
    ],
    "assistant.TenantLimits.attachment_kinds": "",
    "assistant.Assistant.when_busy": "",
    "assistant.Assistant.on_disconnect": "continue",
    "assistant.Conversation.thread_key": THREAD_KEY,
    "assistant.Conversation.branches": [],
    "assistant.Conversation.choices": [],
    "assistant_shares.ConversationShare.path": [[0, 1]],
    # Else the owner would not see the document either.
    "assistant_collections.Collection.roles": [],
    "assistant_collections.Collection.permission": "",
    "assistant_collections.Collection.for_chosen_assistants": False,
    "assistant_collections.CollectedDocument.row_model": "",
    "assistant_collections.CollectedDocument.row_key": "",
    # A question is open because nothing was found, or because what was found was disliked.
    "assistant.Document.hidden": [["white", CANARY]],
    "assistant_sources.Source.is_on": False,
    "assistant_sources.Source.report": {"counts": {}, "lines": [["skipped", CANARY, CANARY]]},
    "assistant_gaps.OpenQuestion.feedback": None,
    "assistant_gaps.DocumentDoubt.is_settled": False,
    "assistant.Run.ending": None,
    "assistant.Run.is_test": False,
    "assistant.Run.partial": None,
    "assistant.Run.cancel_requested_at": None,
    "assistant.Run.status": "finished",
    "assistant.ToolSetting.tool": "get_customer",
    "assistant.ToolSetting.secrets": f'{{"key": "{CANARY}"}}',
    "assistant_mcp_servers.McpServer.headers": f'{{"key": "{CANARY}"}}',
    "assistant_mcp_servers.McpServer.context_keys": [],
    "assistant_mcp_servers.McpCredential.headers": f'{{"key": "{CANARY}"}}',
    "assistant_mcp_servers.McpTool.definition": _DEFINITION.to_state(),
    "assistant_mcp_servers.McpTool.accepted": _DEFINITION.to_state(),
    "assistant_mcp_servers.McpTool.digest": _DEFINITION.digest,
    "assistant_mcp_servers.McpTool.accepted_digest": _DEFINITION.digest,
    "assistant.UsageEntry.is_test": False,
    "assistant_webhooks.Webhook.events": ["run.finished"],
    "assistant_openai_api.StoredResponse.echo": {"store": True, "instructions": CANARY, "tools": []},
    "assistant.Assistant.starters": [CANARY],
    "assistant.Assistant.translations": {"de": {"greeting": CANARY}},
    "assistant_sub_agents.Delegation.task_schema": None,
    "assistant.Assistant.answer_schema": None,
}


# What refers to a document of its own: one of a row that the owner does not see is hidden from them too.
APART = frozenset({"assistant_data.RowDocument.document"})


def tenant_models() -> list[type[models.Model]]:
    """Return every model whose rows belong to a tenant, directly or through another row; proxies last."""
    models_of_all = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    return sorted(filter(tenant_path, models_of_all), key=lambda model: model._meta.proxy)


def tenant_path(model: type[models.Model], seen: tuple[type[models.Model], ...] = ()) -> str | None:
    """Return the look-up from a row to its tenant: "tenant", "conversation__tenant", ...; "pk" for a tenant."""
    if model is Tenant:
        return "pk"
    keys = [field for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)]
    if any(key.name == "tenant" for key in keys):
        return "tenant"
    for key in keys:
        target = key.related_model
        if isinstance(target, type) and target not in (model, *seen) and target._meta.app_label in APPS:
            path = tenant_path(target, (*seen, model))
            if path is not None:
                return f"{key.name}__{path}"
    return None


class Planter:
    """Creates one row of each model for a tenant, and the rows that these require."""

    def __init__(self, tenant: Tenant, user: models.Model, *existing: models.Model) -> None:
        self.rows: dict[type[models.Model], models.Model] = {Tenant: tenant, type(user): user}
        self.rows.update({type(row): row for row in existing})

    def plant_all(self) -> dict[type[models.Model], models.Model]:
        for model in tenant_models():
            self.row(model)
        return self.rows

    def row(self, model: type[models.Model]) -> models.Model:
        if model._meta.proxy:
            return self.rows.setdefault(model, self.row(model._meta.concrete_model))
        if model not in self.rows:
            self.rows[model] = self.made(model)
        return self.rows[model]

    def made(self, model: type[models.Model], **values: Any) -> models.Model:
        fields = [field for field in model._meta.concrete_fields if not _is_automatic(field)]
        row: models.Model = model._default_manager.create(
            **{field.name: self.value(field) for field in fields if field.name not in values}, **values
        )
        return row

    def value(self, field: models.Field[Any, Any]) -> Any:
        """Return a canary, if the field's type can hold one, or another valid value."""
        name = f"{field.model._meta.label}.{field.name}"
        if name in FIXED:
            return FIXED[name]
        if name in APART and isinstance(field, models.ForeignKey):
            return self.made(field.related_model, title=f"{CANARY} apart")
        if isinstance(field, models.ForeignKey):
            return None if field.related_model is field.model else self.row(field.related_model)
        if field.choices:
            return next(iter(field.flatchoices))[0]
        if isinstance(field, models.JSONField):
            return {"note": CANARY} if field.default is dict or field.null else [CANARY]
        return _plain_value(field)


def _is_automatic(field: models.Field[Any, Any]) -> bool:
    return (
        isinstance(field, models.AutoField)
        or getattr(field, "auto_now", False)
        or getattr(field, "auto_now_add", False)
    )


def _plain_value(field: models.Field[Any, Any]) -> Any:
    texts = {models.EmailField: f"{CANARY}@example.com", models.URLField: f"https://{CANARY}.example.com/v1"}
    for kind, text in texts.items():
        if isinstance(field, kind):
            return text
    if field.name == "timezone":
        return "Europe/Vienna"
    if isinstance(field, models.CharField | models.TextField) and not isinstance(field, models.FileField):
        has_room = field.max_length is None or field.max_length >= len(CANARY)
        return CANARY if has_room and not field.get_default() else field.get_default()
    if isinstance(field, models.FileField):
        return ContentFile(CANARY.encode(), name=CANARY)
    if isinstance(field, models.BinaryField):
        return CANARY.encode()
    if isinstance(field, models.DateTimeField):
        return timezone.now() + timedelta(days=1)
    if isinstance(field, models.DateField):
        return timezone.now().date()
    if isinstance(field, models.UUIDField):
        return uuid.uuid4()
    if isinstance(field, models.BooleanField):
        return True
    if isinstance(field, models.DecimalField | models.IntegerField | models.FloatField):
        return Decimal(1) if isinstance(field, models.DecimalField) else 1
    raise AssertionError(f"tell tests/isolation/planting.py what {field} may hold")


def plant(cast: Cast) -> dict[type[models.Model], models.Model]:
    """Fill Acme; its name, members and assistant become canaries too. Return a row of each model."""
    cast.acme.name = f"Acme {CANARY}"
    cast.acme.save()
    for user in (cast.alice, cast.amy):
        user.username += f"-{CANARY}"
        user.email = f"{user.username}@example.com"
        user.save()
    cast.support.name = cast.support.description = f"Support {CANARY}"
    cast.support.starters = [CANARY]
    cast.support.greeting = CANARY
    cast.support.translations = {"de": {"greeting": CANARY, "starters": [CANARY]}}
    cast.support.save()
    cast.support.prompt_versions.update(text=CANARY)
    membership = cast.acme.memberships.get(user=cast.alice)
    prompt = cast.support.prompt_versions.get()
    return Planter(cast.acme, cast.alice, membership, cast.support, prompt).plant_all()


def rows_of(tenant: Tenant) -> str:
    """Return all rows of a tenant as text, to compare before and after."""
    rows = [
        row
        for model in tenant_models()
        for row in model._default_manager.filter(**{str(tenant_path(model)): tenant.pk}).order_by("pk")
    ]
    return str(serializers.serialize("json", rows, indent=1))


def crossings() -> list[str]:
    """Return the rows of one tenant that refer to a row of another."""
    found = []
    for model in tenant_models():
        own = tenant_path(model)
        for key in (field for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)):
            target = key.related_model
            path = tenant_path(target) if target in tenant_models() else None
            if path is None or target is Tenant:
                continue
            other = f"{key.name}__{path}"
            pairs = model._default_manager.exclude(**{other: None}).exclude(**{str(own): None})
            found += [
                f"{model.__name__} {pk} of tenant {mine} -> {key.name} of tenant {theirs}"
                for pk, mine, theirs in pairs.values_list("pk", own, other)
                if mine != theirs
            ]
    return found
