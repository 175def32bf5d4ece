"""Names of models and fields that Django derives from those of their classes and attributes, for translation.

Names that a model sets itself are translated there. Setting a name for each field would need a migration of all fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from assistant import optional_apps
from assistant.models import TenantLimits
from assistant.models.limits import OF_ATTACHMENTS, OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.tool_settings import FOLLOW

# By the name of the model: of one row, of several.
MODELS: dict[str, tuple[str | Promise, str | Promise]] = {
    "apikey": (_("API key"), _("API keys")),
    "apikeyuse": (_("API key use"), _("API key uses")),
    "approval": (_("pending approval"), _("pending approvals")),
    "assistant": (_("assistant"), _("assistants")),
    "attachment": (_("attachment"), _("attachments")),
    "auditentry": (_("audit entry"), _("audit entries")),
    "brandimage": (_("brand image"), _("brand images")),
    "conversation": (_("conversation"), _("conversations")),
    "conversationshare": (_("share"), _("shares")),
    "document": (_("document"), _("documents")),
    "feedback": (_("feedback"), _("feedback")),
    "idempotentanswer": (_("stored answer"), _("stored answers")),
    "incident": (_("incident"), _("incidents")),
    "job": (_("job"), _("jobs")),
    "keptrequest": (_("kept request"), _("kept requests")),
    "membership": (_("membership"), _("memberships")),
    "message": (_("message"), _("messages")),
    "modelprice": (_("price"), _("prices")),
    "passage": (_("passage"), _("passages")),
    "pendingcall": (_("pending call"), _("pending calls")),
    "personsettings": (_("own settings of a person"), _("own settings of people")),
    "promptversion": (_("prompt version"), _("prompt versions")),
    "provider": (_("provider"), _("providers")),
    "quotause": (_("use of a limit"), _("uses of limits")),
    "run": (_("run"), _("runs")),
    "runconfiguration": (_("configuration of a run"), _("configurations of runs")),
    "signindevice": (_("sign-in device"), _("sign-in devices")),
    "spendnotice": (_("warning about spend"), _("warnings about spend")),
    "tenant": (_("tenant"), _("tenants")),
    "toolcall": (_("tool call"), _("tool calls")),
    "toolfile": (_("file of a tool"), _("files of tools")),
    "toolsetting": (_("tool setting"), _("tool settings")),
    "usageentry": (_("usage entry"), _("usage entries")),
}
# Those that pages show.
FIELDS: tuple[str | Promise, ...] = (
    _("action"), _("actor"), _("agent"), _("answer schema"), _("api key"), _("archived at"), _("arguments"), _("asked"),
    _("assistant"), _("at"), _("attempts"), _("audit"), _("branches"), _("budget"), _("cache write tokens"),
    _("cached input tokens"), _("call id"), _("cancel requested at"), _("checked at"), _("choices"), _("command"),
    _("comment"), _("config"), _("content"), _("context"), _("continues"), _("conversations"), _("cost"),
    _("created at"), _("created by"), _("decided at"), _("decided by"), _("default model"), _("default provider"),
    _("delegates"), _("delivered at"), _("deliveries"), _("description"), _("details"), _("display"), _("due at"),
    _("duration ms"), _("ended at"), _("ends runs on tool failure"), _("error"), _("error code"), _("error id"),
    _("error message"), _("event"), _("events"), _("expires at"), _("external id"), _("fallback model"),
    _("fallback provider"), _("filename"), _("files"), _("follow ups"), _("follow ups run"), _("follows"), _("health"),
    _("history messages"), _("history tokens"), _("input tokens"), _("is active"), _("is error"), _("is estimated"),
    _("is partial"), _("is resolved"), _("is stateless"), _("is test"), _("is trusted"), _("kind"), _("label"),
    _("last used at"), _("lease until"),
    _("max cost"), _("max rounds"), _("max seconds"), _("max tokens"), _("max tool calls"), _("message count"),
    _("message id"), _("model"), _("name"), _("note"), _("number"), _("origin"), _("other models"),
    _("output tokens"), _("pinned at"), _("policy"), _("position"), _("prefix"), _("prices"), _("problem"),
    _("prompt"), _("prompt version"), _("provider"), _("provider name"), _("published at"), _("purpose"),
    _("questions"), _("rating"),
    _("reasoning"), _("reasoning tokens"), _("replaced model"), _("requests per day"), _("requests per minute"),
    _("result"), _("revoked at"), _("rings"), _("role"), _("rule"), _("run"), _("run as"),
    _("run count"), _("run id"), _("runs at once"), _("scopes"), _("seen at"), _("sees images"), _("server"), _("slug"),
    _("sources"), _("started at"), _("starters"), _("state"), _("status"), _("summarised to"), _("summary"),
    _("summary sources"), _("target"), _("task schema"), _("temperature"), _("tenant"), _("test tools"), _("text"),
    _("thread key"), _("timeout seconds"), _("timezone"), _("title"), _("title origin"), _("told"), _("tool"),
    _("tool call id"), _("tool calls"), _("translations"), _("until"),
    _("updated at"), _("user"), _("valid from"),
    _("wire format"),
)  # fmt: skip


def name_of(field: str) -> Any:
    """Return the name that Django derives for a field, in the language of the page."""
    name = field.replace("_", " ")
    return _BY_NAME.get(name, name)


def label_of(model: type[models.Model] | None, name: str) -> str:
    """Return what pages call a field of a model, in the language of the page; of a limit also whose it is.

    A name that is not a field, such as one that a later version removed, is returned in words.
    """
    label = str(getattr(_field(model, name), "verbose_name", "") or name_of(name))
    whose = _WHOSE.get(name) if model is TenantLimits else None
    return f"{whose}: {label}" if whose else label


def shown_value(model: type[models.Model] | None, name: str, value: object) -> object:
    """Return a value of a field as people read it: the label of a choice, "yes" or "no" for a switch.

    Also of values that are stored as text, such as those of the audit trail.
    """
    field = _field(model, name)
    if isinstance(field, models.BooleanField) and str(value) in _YES_NO:
        return str(_YES_NO[str(value)])
    choices = getattr(field, "flatchoices", None) or ()
    labels = {str(choice): str(label) for choice, label in choices if choice not in (None, "")}
    return labels.get(str(value), value)


def rows_by_kind(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return what pages call the models of `counts`, with their numbers of rows, sorted by name.

    The keys of `counts` are labels of models, such as "assistant.Conversation". Tables that only link two models have
    no name, and are left out.
    """
    of_models = [(apps.get_model(label)._meta, number) for label, number in counts.items()]
    shown = [(str(capfirst(one.verbose_name_plural)), number) for one, number in of_models if not one.auto_created]
    return sorted(shown)


def state_word(policy: str) -> str:
    """Return the word for a tool's decided policy; for "follow", the word for its switch."""
    return str(_STATES.get(policy, policy))


def _field(model: type[models.Model] | None, name: str) -> Any:
    try:
        return None if model is None else model._meta.get_field(name)
    except FieldDoesNotExist:
        return None


def translate_names() -> None:
    """Let the derived names of our models and fields be translated, of optional apps too. Migrations do not see it."""
    for model in optional_apps.own_models():
        options: Any = model._meta
        if options.model_name in MODELS:
            options.verbose_name, options.verbose_name_plural = MODELS[options.model_name]
        for field in (*options.fields, *options.many_to_many):
            if type(field.verbose_name) is str and field.verbose_name == field.name.replace("_", " "):
                field.verbose_name = name_of(field.name)


LIMIT_GROUPS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (_("All members together"), OF_TENANT),
    (_("Each member"), OF_MEMBER),
    (_("Each end user"), OF_END_USER),
    (_("Files attached to messages"), OF_ATTACHMENTS),
)
_WHOSE = {name: title for title, names in LIMIT_GROUPS[:3] for name in names}
_STATES = {"on": _("on"), "ask": _("asks first"), "off": _("off"), FOLLOW: _("no switch of its own")}
_YES_NO = {"True": _("yes"), "False": _("no")}
with override(None):
    _BY_NAME = {str(name): name for name in FIELDS}
