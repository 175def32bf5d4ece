"""Questions that documents did not answer, labels, how often documents are found, and doubts about them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.conversations import Feedback
from assistant.models.knowledge import Document
from assistant.models.runs import Run, ToolCall
from assistant.models.tenants import Tenant
from assistant.services.knowledge.passages import MAX_PASSAGE_CHARACTERS

# Characters of a question that are kept, and of the words of a passage: as many as a passage has.
MAX_QUESTION = 500
MAX_PASSAGE = MAX_PASSAGE_CHARACTERS


class OpenQuestion(models.Model):
    """A question for which documents were searched, and that they did not answer; it goes with what it comes from."""

    class Kind(models.TextChoices):
        NOTHING = "nothing", _("Nothing was found")
        DISLIKED = "disliked", _("The answer was disliked")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    run = models.ForeignKey(
        Run, verbose_name=_("run"), null=True, on_delete=models.CASCADE, related_name="+", help_text=_("Empty: MCP.")
    )
    call = models.ForeignKey(
        ToolCall,
        verbose_name=_("tool call"),
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("The last search, where nothing was found."),
    )
    feedback = models.ForeignKey(
        Feedback,
        verbose_name=_("feedback"),
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("The rating, if it was disliked."),
    )
    question = models.CharField(_("question"), max_length=MAX_QUESTION)
    key = models.CharField(_("key"), max_length=64, help_text=_("The same for questions of the same words."))
    wordings = models.JSONField(_("wordings"), default=list, help_text=_("What was searched."))
    asked_at = models.DateTimeField(_("asked at"))

    class Meta:
        verbose_name = _("open question")
        verbose_name_plural = _("gaps")
        ordering = ["-asked_at"]
        constraints = [
            models.UniqueConstraint(fields=["call"], name="one_open_question_per_call"),
            models.UniqueConstraint(fields=["feedback"], name="one_open_question_per_feedback"),
            models.CheckConstraint(
                condition=Q(call__isnull=False, feedback=None) | Q(call=None, feedback__isnull=False),
                name="open_question_of_a_call_or_feedback",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "kind", "key"], name="open_questions_by_key"),
            models.Index(fields=["tenant", "asked_at"], name="open_questions_by_age"),
        ]

    def __str__(self) -> str:
        return self.question


class QuestionLabel(models.Model):
    """What somebody has said of a question: that a document answers it, or that none does.

    Labels sharpen the lines below which a search says that no document tells.
    """

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    question = models.CharField(_("question"), max_length=MAX_QUESTION)
    key = models.CharField(max_length=64, editable=False)
    wordings = models.JSONField(
        _("wordings"), default=list, blank=True, help_text=_("What is searched for it. None: the question.")
    )
    # A label of a document that is gone would say that nothing answers.
    document = models.ForeignKey(
        Document,
        verbose_name=_("answered by"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Empty: no document answers it."),
    )
    # Words, because positions change with each version of the document.
    passage = models.CharField(
        _("passage"),
        max_length=MAX_PASSAGE,
        blank=True,
        help_text=_("Words of the passage that answers it. Empty: any of the document."),
    )
    is_lost = models.BooleanField(
        _("passage lost"),
        default=False,
        editable=False,
        help_text=_("No passage of the document has the words any more."),
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("label of a question")
        verbose_name_plural = _("labels of questions")
        ordering = ["-changed_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_label_per_question")]

    def __str__(self) -> str:
        return self.question


class ReachedDocument(models.Model):
    """How often searches have found a document."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="+")
    times = models.PositiveIntegerField(_("times"), default=0)
    last_at = models.DateTimeField(_("last at"))

    class Meta:
        verbose_name = _("document that was found")
        verbose_name_plural = _("documents that were found")

    def __str__(self) -> str:
        return str(self.document_id)


class RecordedTenant(models.Model):
    """Up to when the searches of a tenant have been recorded; the process that moves the moment records them."""

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="+")
    recorded_to = models.DateTimeField(help_text=_("Searches that began before it are recorded."))
    recorded_at = models.DateTimeField()

    class Meta:
        verbose_name = _("recorded tenant")
        verbose_name_plural = _("recorded tenants")

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.recorded_to}"


class DocumentDoubt(models.Model):
    """Something about a document that somebody should look at; the checks make these anew with each change."""

    class Kind(models.TextChoices):
        HIDDEN = "hidden", _("Hidden text")
        INSTRUCTIONS = "instructions", _("Instructions to an assistant")
        LOOKALIKE = "lookalike", _("Looks like something else")
        FLOOD = "flood", _("Many nearly equal passages")
        CONTRADICTION = "contradiction", _("Contradicts another passage")
        OLDER = "older", _("Older than its source")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=13, choices=Kind.choices)
    document = models.ForeignKey(Document, verbose_name=_("document"), on_delete=models.CASCADE, related_name="+")
    position = models.PositiveIntegerField(_("passage"), default=0, help_text=_("0: the whole document."))
    other = models.ForeignKey(
        Document, verbose_name=_("other document"), null=True, on_delete=models.CASCADE, related_name="+"
    )
    other_position = models.PositiveIntegerField(_("other passage"), default=0)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    key = models.CharField(
        max_length=64, editable=False, help_text=_("The same while the text is; what was settled stays settled.")
    )
    is_settled = models.BooleanField(
        _("settled"), default=False, help_text=_("Somebody has looked at it, and the document is as it should be.")
    )
    found_at = models.DateTimeField(_("found at"), auto_now_add=True)

    class Meta:
        verbose_name = _("doubt about a document")
        verbose_name_plural = _("doubts about documents")
        ordering = ["tenant_id", "kind", "document_id", "position"]
        constraints = [models.UniqueConstraint(fields=["tenant", "key"], name="one_doubt_per_key")]
        indexes = [models.Index(fields=["document", "is_settled"], name="doubts_of_a_document")]

    def __str__(self) -> str:
        return self.get_kind_display()
