"""A tenant's documents, and the passages that full-text search finds."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Document(models.Model):
    """A text that assistants can search and quote; `services.knowledge.documents` stores and indexes it."""

    class Kind(models.TextChoices):
        TEXT = "text", _("Plain text")
        MARKDOWN = "markdown", _("Markdown")
        PDF = "pdf", _("PDF")

    tenant = models.ForeignKey(
        "assistant.Tenant", verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="documents"
    )
    title = models.CharField(_("title"), max_length=200)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.MARKDOWN)
    text = models.TextField(
        _("text"), blank=True, help_text=_("The searched text; pages of a PDF are separated by form feeds.")
    )
    filename = models.CharField(
        _("filename"),
        max_length=200,
        blank=True,
        editable=False,
        help_text=_("The name of the file that the text was read from."),
    )
    language = models.CharField(
        _("language"),
        max_length=5,
        blank=True,
        editable=False,
        help_text=_("The ISO code of the language of the text, told by its words; empty if it could not be told."),
    )
    is_trusted = models.BooleanField(
        _("trusted"),
        default=False,
        db_default=False,
        help_text=_(
            "It was written by people who may instruct the assistant: finding it does not mark a conversation."
        ),
    )
    hidden = models.JSONField(
        _("hidden text"),
        default=list,
        blank=True,
        editable=False,
        help_text=_("What readers of its file cannot see: pairs of a kind and an excerpt."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ["tenant_id", "title", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "title"], name="one_document_per_title")]
        # Each search asks for the languages, and reads no document for that.
        indexes = [models.Index(fields=["tenant", "language"], name="documents_by_language")]

    def __str__(self) -> str:
        return self.title


class Passage(models.Model):
    """A part of a document, short enough to quote; database triggers update the full-text index."""

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="passages")
    position = models.PositiveIntegerField(help_text=_("Counted from 1 within the document."))
    title = models.CharField(
        max_length=200, help_text=_("The document's title, so that it is searched with the passage.")
    )
    heading = models.CharField(max_length=300, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField()
    stems = models.TextField(
        editable=False, help_text=_("The words that are searched, of title, heading and text, each in a line.")
    )

    class Meta:
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        ordering = ["document_id", "position"]
        constraints = [models.UniqueConstraint(fields=["document", "position"], name="one_passage_per_position")]

    def __str__(self) -> str:
        return f"{self.title} · {self.position}"
