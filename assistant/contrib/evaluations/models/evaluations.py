"""Evaluations: questions that are replayed against an assistant's published prompt and a draft, and the answers."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.conversations import Conversation
from assistant.models.prompts import PromptVersion
from assistant.models.tenants import Tenant, validate_same_tenant

# Of a question that is typed in, an expected text, and a note of the one who judges.
MAX_QUESTION, MAX_EXPECTED, MAX_NOTE = 20_000, 1_000, 500
# Of a right answer in a person's words.
MAX_REFERENCE = 4_000
# Evaluations of a tenant, and questions of one evaluation.
MAX_EVALUATIONS, MAX_QUESTIONS = 200, 50


class Evaluation(models.Model):
    """A saved set of questions to an assistant, how they are replayed, and how far the latest replay is.

    While a job of it waits, the evaluation is `waiting` or `running`: a process that works on it renews the job's
    moment, so that another one goes on after its death.
    """

    class State(models.TextChoices):
        NEW = "new", _("Not run yet")
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    class Tools(models.TextChoices):
        STUB = "stub", _("Read-only tools are not called either")
        CALL = "call", _("Read-only tools are called")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="+")
    name = models.CharField(_("name"), max_length=100)
    prompt_version = models.ForeignKey(
        PromptVersion,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("draft"),
        help_text=_("What is compared with the published version. Empty: the newest draft."),
    )
    tools = models.CharField(
        _("where no result was recorded"),
        max_length=4,
        choices=Tools.choices,
        default=Tools.STUB,
        help_text=_("Tools that change something are never called."),
    )
    judge_model = models.CharField(
        _("judge"),
        max_length=200,
        blank=True,
        default="",
        help_text=_("A model of the assistant's provider, which compares the two answers. Empty: none."),
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.NEW, editable=False)
    problem = models.CharField(
        _("problem"), max_length=300, blank=True, editable=False, help_text=_("Why it failed or stopped.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
    )
    run_as = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("run as"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
        help_text=_("The member in whose name questions are asked and read-only tools called."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True, editable=False)
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("evaluation")
        verbose_name_plural = _("evaluations")
        constraints = [models.UniqueConstraint(fields=["assistant", "name"], name="evaluation_name_per_assistant")]
        indexes = [
            models.Index(fields=["tenant"], condition=Q(state__in=["waiting", "running"]), name="evaluations_under_way")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_under_way(self) -> bool:
        """Whether its questions are being replayed, or wait to be."""
        return self.state in UNDER_WAY

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.tenant_id, "assistant")


UNDER_WAY = (Evaluation.State.WAITING, Evaluation.State.RUNNING)


class EvaluationCase(models.Model):
    """One question of an evaluation, with what is expected of its answer, and the judgements on the two answers.

    A question that was asked in a conversation is deleted with it, and so with the person who asked it.
    """

    class Verdict(models.TextChoices):
        BETTER = "better", _("The draft is better")
        SAME = "same", _("The same")
        WORSE = "worse", _("The draft is worse")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="cases")
    conversation = models.ForeignKey(
        Conversation,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Where it was asked. Empty: it was typed in."),
    )
    position = models.PositiveIntegerField()
    question = models.TextField(max_length=MAX_QUESTION)
    history = models.JSONField(default=list, help_text=_("The messages before it: role and text of each."))
    recorded = models.JSONField(
        default=list, help_text=_("Tool calls of its answer: name, arguments, result, sources of untrusted text.")
    )
    expected_tool = models.CharField(_("expected tool"), max_length=128, blank=True, default="")
    expected_text = models.CharField(_("expected text"), max_length=MAX_EXPECTED, blank=True, default="")
    reference = models.TextField(
        _("right answer"),
        max_length=MAX_REFERENCE,
        blank=True,
        default="",
        help_text=_("In a person's words; shown beside the answers, and told to the judge."),
    )
    verdict = models.CharField(_("judgement"), max_length=6, choices=Verdict.choices, blank=True, default="")
    note = models.CharField(_("note"), max_length=MAX_NOTE, blank=True, default="")
    judged_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    model_verdict = models.CharField(max_length=6, choices=Verdict.choices, blank=True, default="")
    model_reason = models.CharField(max_length=MAX_NOTE, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["evaluation", "position"]
        verbose_name = _("question of an evaluation")
        verbose_name_plural = _("questions of evaluations")
        constraints = [models.UniqueConstraint(fields=["evaluation", "position"], name="case_position")]

    def __str__(self) -> str:
        return f"{self.evaluation} {self.position}"


class EvaluationResult(models.Model):
    """The answer that one of the two prompts gave to a question in the latest replay."""

    class Side(models.TextChoices):
        PUBLISHED = "published", _("Published")
        DRAFT = "draft", _("Draft")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    case = models.ForeignKey(EvaluationCase, on_delete=models.CASCADE, related_name="results")
    side = models.CharField(max_length=9, choices=Side.choices)
    prompt_number = models.PositiveIntegerField(null=True, help_text=_("Of the version. Empty: the default prompt."))
    answer = models.TextField(blank=True)
    calls = models.JSONField(default=list, help_text=_("Tool calls: name, arguments, result, how it was answered."))
    error = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    milliseconds = models.PositiveIntegerField(default=0, validators=[MaxValueValidator(2**31 - 1)])
    is_passed = models.BooleanField(null=True, help_text=_("Whether it is as expected. Empty: nothing is expected."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["case", "side"]
        verbose_name = _("answer in an evaluation")
        verbose_name_plural = _("answers in evaluations")
        constraints = [models.UniqueConstraint(fields=["case", "side"], name="one_result_per_case_and_side")]

    def __str__(self) -> str:
        return f"{self.case} ({self.get_side_display()})"
