"""The files of a conversation: claimed for the message they are sent with, and given to the model with it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import QuerySet, Value
from django.db.models.functions import Left, Length, Replace
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from assistant.core.values.history_window import IMAGE_TOKENS
from assistant.core.values.messages import AttachedFile, Message
from assistant.core.values.untrusted import fenced
from assistant.models import Attachment, Conversation, Tenant
from assistant.providers.sent_media import MAX_PDFS
from assistant.services.assistants.provider_choice import ProviderChoice
from assistant.services.errors import Refused
from assistant.services.files.kinds import MEDIA_TYPES
from assistant.services.files.limits import MAX_PDF_BYTES, MAX_PDF_PAGES, attachment_limits
from assistant.services.knowledge.citations import INSTRUCTION, GivenDocument, first_number
from assistant.services.knowledge.excerpts import best_pieces
from assistant.services.knowledge.passages import Piece, divided
from assistant.services.run_key import RunKey
from assistant.services.runs.content_parts import REFUSED
from assistant.services.runs.extensions.cited_passages import CitedPassages
from assistant.services.runs.leases import release_run
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.run_input import TextMessage
from assistant.toolkit import Media

logger = logging.getLogger(__name__)

FILE = "an attached file"
# Of all documents of a conversation together, whole or in passages; at most half of what the assistant sends.
MAX_CHARACTERS = 60_000
CHARACTERS_PER_TOKEN = 4
# Of one document that is too long to be sent whole.
EXCERPT_CHARACTERS = 8_000
# Of all such documents together: searching this much takes a second of a database thread.
MAX_SEARCHED = 2_000_000
# Passages of one document that have numbers; the last has the rest of it.
MAX_PASSAGES = 200
WHOLE = "A line with a number in brackets stands before each passage of the file, and is no part of it."
EXCERPTS = "The file is long: these are its passages that fit the question best."
# The newest are read; of older ones the model is given the names.
MAX_DOCUMENTS, MAX_IMAGES = 20, 8
CANNOT_SEE = gettext_noop("The model of this assistant cannot see images. Remove the image, or describe it.")
CANNOT_READ_SCANS = gettext_noop(
    "The model of this assistant cannot read “%(name)s”, which holds no text, only pictures of it. Run text "
    "recognition on it first."
)
SCAN = "It holds only pictures of pages, which are not shown here, and no text. Say so if the answer depends on it."


def claimed_files(given: TextMessage, conversation: Conversation) -> tuple[AttachedFile, ...]:
    """Return the files of a message, which belong to the conversation from now on.

    Raises:
        Refused: `attachment_refused`, one is not there, was sent elsewhere, or is another person's.
    """
    ids = list(dict.fromkeys(file for file in given.files if isinstance(file, uuid.UUID)))
    if not ids:
        return ()
    own = Attachment.objects.filter(tenant_id=conversation.tenant_id, pk__in=ids)
    # Not those of the Files API, which belong to a key: responses get copies of them.
    unsent = own.filter(conversation=None, user_id=conversation.user_id, purpose="")
    # A question that is asked again, or changed, has the files of the first.
    free = (unsent | own.filter(conversation=conversation)).order_by("pk").select_for_update()
    rows = free.only("name", "media_type", "size", "conversation").in_bulk()
    if missing := [one for one in ids if one not in rows]:
        sentence = _("The file %(id)s is not there any more, or was sent already. Upload it again.")
        raise Refused(REFUSED, sentence % {"id": missing[0]})
    claimed = unsent.update(conversation=conversation, message_id=given.id)
    if claimed != sum(row.conversation_id is None for row in rows.values()):
        raise Refused(REFUSED, _("A file was sent or removed at the same time. Upload it again."))
    return tuple(AttachedFile(str(pk), rows[pk].name, rows[pk].media_type, rows[pk].size) for pk in ids)


def check_files(messages: Iterable[Message], *, tenant: Tenant) -> None:
    """Raise `Refused` for more files than a message may have.

    Args:
        tenant: loaded with its limits.
    """
    for files in (message.attachments for message in messages if message.attachments):
        limits = attachment_limits(tenant)
        if not limits.are_on:
            raise Refused(REFUSED, _("Files cannot be attached here."))
        if limits.per_message and len(files) > limits.per_message:
            sentence = ngettext(
                "A message may have at most %(count)d file.",
                "A message may have at most %(count)d files.",
                limits.per_message,
            )
            raise Refused(REFUSED, sentence % {"count": limits.per_message})


def check_model_reads(new: Iterable[Message], *, tenant: Tenant, provider: ProviderChoice) -> None:
    """Raise `Refused` for images and scans that the model cannot see.

    Only new messages are checked: a conversation may continue with a model that cannot see earlier files; a note tells
    it about them.
    """
    files = [file for message in new for file in message.attachments]
    if not provider.sees_images and any(file.is_image for file in files):
        raise Refused(REFUSED, _(CANNOT_SEE))
    if not provider.reads_pdfs and (scan := _first_scan(files, tenant)) is not None:
        raise Refused(REFUSED, _(CANNOT_READ_SCANS) % {"name": scan})


def _first_scan(files: Iterable[AttachedFile], tenant: Tenant) -> str | None:
    """Return the name of a PDF without text among files, if there is one."""
    pdfs = [file.id for file in files if file.media_type == MEDIA_TYPES[Attachment.Kind.PDF]]
    if not pdfs:
        return None
    scans = Attachment.objects.filter(tenant=tenant, pk__in=pdfs, text_format="")
    return scans.values_list("name", flat=True).first()


def estimate_files(setup: RunSetup, history: Iterable[Message]) -> int:
    """Estimate the tokens of the contents that `with_file_contents` will add to messages, from the files' sizes."""
    files = [file for message in history for file in message.attachments]
    images = sum(file.is_image for file in files) if setup.provider.sees_images else 0
    characters = min(sum(file.size for file in files if not file.is_image), _room(setup))
    return characters // CHARACTERS_PER_TOKEN + min(images, MAX_IMAGES) * IMAGE_TOKENS


def with_file_contents(opened: OpenedRun) -> OpenedRun:
    """Return a run with the contents of its conversation's files in the messages that they were sent with.

    Documents are given whole where they fit, else in the passages that fit the last question; images to models that
    see. Reads files, so call this after the transaction. If it fails, the run is given up.
    """
    if opened.setup is None:
        return opened
    try:
        return replace(opened, setup=with_contents(opened.key, opened.setup))
    except Exception:
        # The stored run would keep its thread busy until its lease expires.
        release_run(key=opened.key)
        raise


def with_contents(key: RunKey, setup: RunSetup) -> RunSetup:
    """Return a setup as `with_file_contents` does; a run for which that fails stays as it is."""
    if not any(message.attachments for message in setup.history):
        return setup
    files = [file for message in reversed(setup.history) for file in message.attachments]
    documents = [uuid.UUID(file.id) for file in files if not file.is_image][:MAX_DOCUMENTS]
    images = [uuid.UUID(file.id) for file in files if file.is_image][: MAX_IMAGES if setup.provider.sees_images else 0]
    of_thread = Attachment.objects.filter(tenant_id=key.tenant_id, conversation_id=key.conversation_id)
    if key.is_stateless:
        # A response has the messages of those that it continues, each in a conversation of its own.
        of_thread = Attachment.objects.filter(tenant_id=key.tenant_id, conversation__user_id=key.user_id)
    breaks = Length("text") - Length(Replace("text", Value("\f"), Value("")))
    measured = of_thread.defer("text").annotate(characters=Length("text"), pages=breaks + 1)
    rows = measured.in_bulk([*documents, *images])
    pdfs = MAX_PDFS if setup.provider.reads_pdfs else 0
    reader = _Reader(of_thread, rows, _question(setup.history), _room(setup), MAX_SEARCHED, pdfs)
    # The newest first, so that the older ones are left out if not all fit.
    read = [reader.read(message) if message.attachments else (message, []) for message in reversed(setup.history)]
    numbering = _Numbering(first_number(one for _, files in read for one in files if isinstance(one, GivenDocument)))
    history = [numbering.put_before(message, files) for message, files in reversed(read)]
    cited = CitedPassages((*reader.sent, *numbering.given))
    others = (one for one in setup.extensions if not isinstance(one, CitedPassages))
    return replace(setup, history=tuple(history), extensions=(cited, *others))


def _question(history: Sequence[Message]) -> str:
    return next((message.content for message in reversed(history) if message.role == "user"), "")


def _room(setup: RunSetup) -> int:
    tokens = setup.settings.history_tokens
    return min(MAX_CHARACTERS, tokens * CHARACTERS_PER_TOKEN // 2) if tokens else MAX_CHARACTERS


@dataclass(slots=True)
class _Reader:
    """Puts contents of files into messages.

    Attributes:
        of_thread: the conversation's files, to load texts of.
        rows: those that are read, without their texts, but with their number of `characters`.
        room: the characters of text that are left.
        searched: the characters that may still be searched for passages.
        pdfs: how many PDFs may still be sent as files.
        sent: those that are.
    """

    of_thread: QuerySet[Attachment]
    rows: Mapping[uuid.UUID, Attachment]
    question: str
    room: int
    searched: int
    pdfs: int = 0
    sent: list[GivenDocument] = field(default_factory=list)

    def read(self, message: Message) -> tuple[Message, list[GivenDocument | str]]:
        """Return a message with its images and PDFs, and its other files: documents, or what is said of them."""
        files: list[GivenDocument | str] = []
        media: list[Media] = []
        for file in message.attachments:
            row = self.rows.get(uuid.UUID(file.id))
            if row is not None and file.is_image and (image := _media(row)) is not None:
                media.append(image)
                continue
            what = "image" if file.is_image else "file"
            given = self._given(row) if row is not None and not file.is_image else ""
            given = given or fenced(f"Name: {file.name}", f"an attached {what} that is not shown here", file.id)
            if row is not None and self._is_sent(row) and (pdf := _media(row, _unnumbered(given))) is not None:
                self.pdfs -= 1
                media.append(pdf)
                if isinstance(given, GivenDocument):
                    self.sent.append(replace(given, pieces=()))  # the model sees no numbers in it
            else:
                files.append(given)
        return replace(message, media=tuple(media)), files

    def _is_sent(self, row: Attachment) -> bool:
        """Return whether a file is sent as one: a PDF, within the limits of its size and its pages."""
        return (
            self.pdfs > 0
            and row.kind == Attachment.Kind.PDF
            and row.size <= MAX_PDF_BYTES
            and getattr(row, "pages", 0) <= MAX_PDF_PAGES
        )

    def _given(self, row: Attachment) -> GivenDocument | str:
        """Return the part of a document that the model is given, or what it is told of it; "" for nothing."""
        if row.kind == Attachment.Kind.PDF and not row.text_format:
            return fenced(f"Name: {row.name}\n{SCAN}", FILE, str(row.pk))
        kind = _kind(row)
        size: int = getattr(row, "characters")  # noqa: B009 - an annotation the type does not know
        if size <= self.room:
            self.room -= size
            pieces = divided(self._load(row, size), kind=kind, most=MAX_PASSAGES)
            return GivenDocument(str(row.pk), row.name, pieces, is_whole=True)
        most, searched = min(EXCERPT_CHARACTERS, self.room), min(size, self.searched)
        if most <= 0 or searched <= 0:
            return ""
        self.searched -= searched
        pieces = best_pieces(self._load(row, searched), kind=kind, question=self.question, characters=most)
        self.room -= sum(len(piece.text) for piece in pieces)
        return GivenDocument(str(row.pk), row.name, pieces)

    def _load(self, row: Attachment, characters: int) -> str:
        beginnings = self.of_thread.filter(pk=row.pk).values_list(Left("text", max(1, characters)), flat=True)
        return beginnings.first() or ""


def _kind(row: Attachment) -> str:
    return row.text_format if row.text_format in ("pdf", "text") else "markdown"


@dataclass(slots=True)
class _Numbering:
    """Numbers the passages of a conversation's documents, in its order, so that an answer can name them.

    Attributes:
        next: the number of the next passage.
        given: the documents that were put into messages.
    """

    next: int
    given: list[GivenDocument] = field(default_factory=list)

    def put_before(self, message: Message, files: Sequence[GivenDocument | str]) -> Message:
        """Return a message with its files before its text, and how to name passages, which is no part of a file."""
        first = self.next
        texts = [one if isinstance(one, str) else self._shown(one) for one in files]
        if self.next > first:
            texts.append(INSTRUCTION % first)
        return replace(message, content="\n\n".join([*texts, message.content]))

    def _shown(self, document: GivenDocument) -> str:
        document = replace(document, first=self.next)
        self.next += len(document.pieces)
        self.given.append(document)
        places = (f"[{number}]\n{_place(piece, document)}" for number, piece in document.numbered())
        numbered = (f"{place}{piece.text}" for place, piece in zip(places, document.pieces, strict=True))
        head = f"Name: {document.name}\n{WHOLE if document.is_whole else EXCERPTS}"
        what = FILE if document.is_whole else f"passages of {FILE}"
        return fenced("\n\n".join([head, *(text.rstrip("\n") for text in numbered)]), what, document.id)


def _unnumbered(given: GivenDocument | str) -> str:
    """Return a document without numbers: the text beside a file that the model reads itself."""
    if isinstance(given, str):
        return given
    texts = [f"{_place(piece, given)}{piece.text}".strip("\n") for piece in given.pieces]
    return fenced("\n\n".join([f"Name: {given.name}", *texts]), FILE, given.id)


def _place(piece: Piece, document: GivenDocument) -> str:
    """Return the line that says where a passage stands; "" if nothing is known, or its text has the heading itself."""
    names = [f"page {piece.page}"] if piece.page else []
    names += [piece.heading] if piece.heading and not document.is_whole else []
    return f"[{', '.join(names)}]\n" if names else ""


def _media(row: Attachment, text: str = "") -> Media | None:
    """Return a stored image, or a PDF with the text for models that take no PDFs; None if it cannot be read."""
    try:
        with row.file.open("rb") as stored:
            return Media(stored.read(), row.media_type, name=row.name, description=text)
    except Exception:  # storages raise their own
        logger.warning("The stored content of attachment %s cannot be read", row.pk, exc_info=True)
        return None
