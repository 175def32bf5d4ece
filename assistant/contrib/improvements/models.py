"""Groups of what goes wrong with their cases, and what people say of runs."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.conversations import Conversation
from assistant.models.prompts import PromptVersion
from assistant.models.runs import Run
from assistant.models.tenants import Tenant

# Characters of a question, of what went wrong, of a note, of an answer that somebody has written, and of a text that a
# right answer contains.
MAX_QUESTION = 500
MAX_DETAIL = 300
MAX_NOTE = 500
MAX_ANSWER = 4_000
MAX_EXPECTED = 300


class Signature(models.TextChoices):
    """What goes wrong in a run, as far as its rows tell."""

    TOOL_ERROR = "tool_error", _("Tool error")
    MISREAD = "misread", _("Misread schema")
    REFUSAL = "refusal", _("Refusal")
    KNOWLEDGE = "knowledge", _("Missing knowledge")
    STYLE = "style", _("Disliked style")
    LOOP = "loop", _("Loop")
    CUT = "cut", _("Cut off")
    LATENCY = "latency", _("Latency")


class ProblemGroup(models.Model):
    """Runs of an assistant in which the same goes wrong. It holds no text of a person: its cases do."""

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        CHANGED = "changed", _("Changed")
        LEFT = "left", _("Left as it is")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="+")
    signature = models.CharField(_("signature"), max_length=12, choices=Signature.choices)
    subject = models.CharField(
        _("subject"), max_length=128, blank=True, help_text=_("The tool, or the kind of it. Empty: the questions.")
    )
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    draft = models.ForeignKey(
        PromptVersion,
        verbose_name=_("draft"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("The prompt version that was drafted against it."),
    )
    changed_at = models.DateTimeField(_("changed at"), null=True, help_text=_("When something was changed about it."))
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("changed by"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("group of problems")
        verbose_name_plural = _("improvements")
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["tenant", "assistant", "signature", "subject"], name="problems_of_a_kind"),
        ]

    def __str__(self) -> str:
        return " ".join(part for part in (str(self.get_signature_display()), self.subject) if part)

    @property
    def in_force_at(self) -> datetime | None:
        """When the change began to hold: the publication of its draft, else when somebody said so; None: not yet."""
        if self.draft is not None and self.draft.published_at is not None:
            return self.draft.published_at
        return self.changed_at


class ProblemCase(models.Model):
    """A run in which something went wrong; it goes with its run."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(
        ProblemGroup, verbose_name=_("group of problems"), on_delete=models.CASCADE, related_name="cases"
    )
    run = models.ForeignKey(Run, verbose_name=_("run"), on_delete=models.CASCADE, related_name="+")
    question = models.CharField(_("question"), max_length=MAX_QUESTION, blank=True)
    words = models.JSONField(default=list, editable=False, help_text=_("What questions are compared by."))
    detail = models.CharField(_("detail"), max_length=MAX_DETAIL, blank=True, help_text=_("What went wrong."))
    at = models.DateTimeField(_("at"), help_text=_("When the run began."))

    class Meta:
        verbose_name = _("case of a problem")
        verbose_name_plural = _("cases of problems")
        ordering = ["-at"]
        constraints = [models.UniqueConstraint(fields=["group", "run"], name="one_case_per_group_and_run")]
        indexes = [
            models.Index(fields=["tenant", "at"], name="problem_cases_by_age"),
            models.Index(fields=["group", "-at"], name="problem_cases_of_a_group"),
        ]

    def __str__(self) -> str:
        return self.question or str(self.run_id)


class GroupedTenant(models.Model):
    """Up to which moment the runs of a tenant were looked at; the process that moves it looks at them."""

    tenant = models.OneToOneField(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    grouped_to = models.DateTimeField(_("grouped to"), help_text=_("Runs that began earlier were looked at."))
    grouped_at = models.DateTimeField(_("grouped at"))

    class Meta:
        ordering = ["tenant"]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.grouped_to}"


class Annotation(models.Model):
    """What somebody who may read chats says of a run's answer; it goes with its conversation."""

    class Label(models.TextChoices):
        RIGHT = "right", _("Right")
        WRONG = "wrong", _("Wrong")
        INCOMPLETE = "incomplete", _("Incomplete")
        INVENTED = "invented", _("Made up")
        STYLE = "style", _("Wrong tone or form")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(
        Conversation, verbose_name=_("conversation"), on_delete=models.CASCADE, related_name="+"
    )
    run = models.OneToOneField(Run, verbose_name=_("run"), on_delete=models.CASCADE, related_name="+")
    label = models.CharField(_("label"), max_length=10, choices=Label.choices, blank=True)
    note = models.CharField(_("note"), max_length=MAX_NOTE, blank=True)
    corrected_answer = models.TextField(_("corrected answer"), max_length=MAX_ANSWER, blank=True)
    expected_text = models.CharField(
        _("a right answer contains"), max_length=MAX_EXPECTED, blank=True, help_text=_("Upper and lower case are one.")
    )
    is_looked_at = models.BooleanField(_("looked at"), default=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("author"), null=True, on_delete=models.SET_NULL, related_name="+"
    )
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("annotation")
        verbose_name_plural = _("annotations")
        ordering = ["-changed_at"]
        indexes = [models.Index(fields=["tenant", "-changed_at"], name="annotations_of_a_tenant")]

    def __str__(self) -> str:
        return str(self.get_label_display() if self.label else _("looked at"))
