"""Extracts the text of a PDF in a child process; run by `assistant.toolkit.processes`."""

from __future__ import annotations

import io
import json
import re
from math import sqrt
from typing import Any, NamedTuple

# The first line of a result: a text follows, or why there is none.
TEXT = "text"
ENCRYPTED = "encrypted"
TOO_MANY_PAGES = "pages"
TOO_LONG = "long"
BROKEN = "broken"
EMPTY = "empty"
BOMB = "bomb"
# What the streams of all pages may unpack to: this many bytes, or so many times the size of the file.
UNPACKED_FROM = 10 * 1024 * 1024
MAX_RATIO = 100

# What readers cannot see: excerpts that are kept, letters that a kind needs on a page, and points that are too few.
MAX_HIDDEN = 20
MAX_EXCERPT = 200
MIN_LETTERS = 12
TINY = 1.5
_SHOWS = (b"Tj", b"TJ", b"'", b'"')
_FILLS = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*")
_STROKES = (b"S", b"s", b"n")
# Rendering modes that paint nothing.
_UNPAINTED = (3, 7)
# A scan has its recognised words behind its picture.
_SCAN_SHARE = 0.5


def work(task: bytes) -> bytes:
    """Return one of the words above, a line end, and the text in UTF-8 with form feeds between pages.

    Behind the word stands JSON of what readers cannot see of the text, if there is any: pairs of a kind and an excerpt.

    Args:
        task: a line of JSON with the most `pages` and `characters`, and the PDF.
    """
    line, _, content = task.partition(b"\n")
    limits = json.loads(line)
    try:
        outcome, text, hidden = _read(content, limits["pages"], limits["characters"])
    except MemoryError:
        raise
    except Exception:  # pypdf documents that broken files may raise anything
        outcome = BROKEN
        text = ""
        hidden = []
    marks = f" {json.dumps(hidden[:MAX_HIDDEN])}" if hidden else ""
    return f"{outcome}{marks}\n{text}".encode(errors="replace")


def _read(content: bytes, most_pages: int, most_characters: int) -> tuple[str, str, list[tuple[str, str]]]:
    from pypdf import PdfReader  # the server imports this module for its constants

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        return ENCRYPTED, "", []
    if len(reader.pages) > most_pages:
        return TOO_MANY_PAGES, "", []
    pages: list[str] = []
    hidden: list[tuple[str, str]] = []
    unpacked = 0
    most_unpacked = max(UNPACKED_FROM, MAX_RATIO * len(content))
    for page in reader.pages:
        unpacked += _unpacked(page)
        if unpacked > most_unpacked:
            return BOMB, "", []
        sight = PageSight(page)
        text = page.extract_text(visitor_operand_before=sight.before, visitor_operand_after=sight.after)
        # Join words that are hyphenated at the end of a line.
        pages.append(re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text.replace("\f", "\n")))
        if sum(map(len, pages)) > most_characters:
            return TOO_LONG, "", []
        if len(hidden) < MAX_HIDDEN:
            hidden += [(kind, f"{len(pages)}: {excerpt}") for kind, excerpt in sight.hidden()]
    if not any(page.strip() for page in pages):
        return EMPTY, "\f" * (len(pages) - 1), []
    return TEXT, "\f".join(pages), hidden


def _unpacked(page: Any) -> int:
    """Return how many bytes the operators of a page are; 0 if they cannot be found, which its text will tell."""
    try:
        contents = page.get_contents()
        return 0 if contents is None else len(contents.get_data())
    except MemoryError:
        raise
    except Exception:  # as above
        return 0


Box = tuple[float, float, float, float]


class State(NamedTuple):
    """A part of PDF's graphics state."""

    is_white: bool = False
    space: str = "/DeviceGray"
    mode: int = 0
    size: float = 1.0
    is_clear: bool = False


class PageSight:
    """Watches the operators of a page for text that is painted, and that nobody can see.

    It is white on nothing, tiny, beside the page, or in a mode or an opacity that paints nothing. What is in forms is
    placed by their own coordinates, so there no place is judged.
    """

    def __init__(self, page: Any) -> None:
        box = page.mediabox
        self._box: Box = (float(box.left), float(box.bottom), float(box.right), float(box.top))
        resources = page.get("/Resources") or {}
        self._objects = _entries(resources, "/XObject")
        self._clear = [name for name, entry in _entries(resources, "/ExtGState").items() if _number(entry, "/ca") == 0]
        self._state = State()
        self._states: list[State] = []
        self._path: list[tuple[float, float]] = []
        self._painted: list[Box] = []
        self._pictures = 0.0
        self._depth = 0
        self._letters = 0
        self._found: dict[str, list[str]] = {}

    def hidden(self) -> list[tuple[str, str]]:
        """Return the kinds of what cannot be seen, each with an excerpt."""
        left, bottom, right, top = self._box
        is_scan = self._pictures > _SCAN_SHARE * (right - left) * (top - bottom)
        if is_scan or self._letters < MIN_LETTERS:
            self._found.pop("invisible", None)
        texts = {kind: " ".join("".join(parts).split()) for kind, parts in self._found.items()}
        return [
            (kind, text[:MAX_EXCERPT])
            for kind, text in texts.items()
            if sum(letter.isalnum() for letter in text) >= MIN_LETTERS
        ]

    def before(self, operator: bytes, operands: Any, cm: Any, tm: Any) -> None:
        """Take note of an operator before it is done."""
        try:
            if operator == b"Do":
                self._paint_object(operands, cm)
            else:
                self._note(operator, operands, cm, tm)
        except MemoryError:
            raise
        except Exception:  # broken files may hand over anything; what is broken paints nothing
            return

    def after(self, operator: bytes, operands: Any, cm: Any, tm: Any) -> None:
        """Take note of the end of an operator: a form ends with the one that paints it."""
        if operator == b"Do":
            self._depth -= 1

    def _note(self, operator: bytes, operands: Any, cm: Any, tm: Any) -> None:
        if operator in _SHOWS:
            self._show(_text(operands), cm, tm)
        elif operator == b"q":
            self._states.append(self._state)
        elif operator == b"Q":
            self._state = self._states.pop() if self._states else State()
        elif operator == b"Tr":
            self._state = self._state._replace(mode=int(operands[0]))
        elif operator == b"Tf":
            self._state = self._state._replace(size=abs(float(operands[1])))
        elif operator == b"gs":
            self._state = self._state._replace(is_clear=operands[0] in self._clear)
        elif operator in (b"g", b"rg", b"k", b"cs", b"sc", b"scn"):
            self._color(operator, operands)
        elif self._depth == 0:
            self._draw(operator, operands, cm)

    def _color(self, operator: bytes, operands: Any) -> None:
        if operator == b"cs":
            self._state = self._state._replace(space=str(operands[0]), is_white=False)
            return
        values = [float(value) for value in operands if isinstance(value, int | float)]
        if len(values) == 1:
            is_gray = operator == b"g" or self._state.space in ("/DeviceGray", "/CalGray")
            is_white = is_gray and values[0] > 0.98
        elif len(values) == 3:
            is_white = min(values) > 0.98
        else:
            is_white = len(values) == 4 and max(values) < 0.02
        self._state = self._state._replace(is_white=is_white)

    def _draw(self, operator: bytes, operands: Any, cm: Any) -> None:
        if operator == b"re":
            x, y, width, height = map(float, operands)
            self._path += [_at(cm, x, y), _at(cm, x + width, y + height)]
        elif operator in (b"m", b"l", b"c", b"v", b"y"):
            numbers = [float(one) for one in operands]
            self._path += [_at(cm, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        elif operator in _FILLS:
            if not self._state.is_white and self._path:
                self._painted.append(_around(self._path))
            self._path = []
        elif operator in _STROKES:
            self._path = []
        elif operator == b"sh":
            self._painted.append(self._box)
        elif operator == b"INLINE IMAGE":
            self._paint_square(cm)

    def _paint_object(self, operands: Any, cm: Any) -> None:
        self._depth += 1
        entry = self._objects.get(operands[0]) if operands and self._depth == 1 else None
        if entry is None:
            return
        if entry.get("/Subtype") == "/Image":
            self._paint_square(cm)
        elif len(box := [float(one) for one in entry.get("/BBox", ())]) == 4:
            # A form may paint anything; where it does is taken for painted.
            self._painted.append(_around([_at(cm, box[0], box[1]), _at(cm, box[2], box[3])]))

    def _paint_square(self, cm: Any) -> None:
        box = _around([_at(cm, 0, 0), _at(cm, 1, 1)])
        self._pictures += (box[2] - box[0]) * (box[3] - box[1])
        self._painted.append(box)

    def _show(self, text: str, cm: Any, tm: Any) -> None:
        state = self._state
        if state.mode in _UNPAINTED or state.is_clear:
            self._keep("invisible", text)
            return
        x, y = _at(cm, float(tm[4]), float(tm[5]))
        size = state.size * _scale(tm) * _scale(cm)
        if size < TINY:
            self._keep("tiny", text)
        elif self._depth == 0 and self._is_outside(x, y, size * len(text) / 2):
            self._keep("outside", text)
        elif self._depth == 0 and state.is_white and not self._is_painted(x + size / 2, y + size / 3):
            self._keep("white", text)
        else:
            self._letters += sum(letter.isalnum() for letter in text)

    def _keep(self, kind: str, text: str) -> None:
        parts = self._found.setdefault(kind, [])
        if len(parts) < MAX_EXCERPT:
            parts.append(text[:MAX_EXCERPT])

    def _is_outside(self, x: float, y: float, width: float) -> bool:
        left, bottom, right, top = self._box
        return x > right or x + width < left or y > top or y < bottom

    def _is_painted(self, x: float, y: float) -> bool:
        return any(left <= x <= right and bottom <= y <= top for left, bottom, right, top in self._painted)


def _entries(resources: Any, name: str) -> dict[str, Any]:
    try:
        found = resources.get(name) or {}
        return {key: found[key] for key in found}
    except MemoryError:
        raise
    except Exception:  # broken files may raise anything
        return {}


def _number(entry: Any, name: str) -> float | None:
    value = entry.get(name) if hasattr(entry, "get") else None
    return float(value) if isinstance(value, int | float) else None


def _text(operands: Any) -> str:
    """Return the text of an operator as it is written: words of fonts with codes of their own are no words here."""
    parts = operands[-1] if operands and isinstance(operands[-1], list) else operands[-1:]
    texts = (one for one in parts if isinstance(one, str | bytes))
    return "".join(one if isinstance(one, str) else one.decode("latin-1") for one in texts)


def _at(matrix: Any, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = (float(one) for one in matrix)
    return a * x + c * y + e, b * x + d * y + f


def _scale(matrix: Any) -> float:
    return sqrt(abs(float(matrix[0]) * float(matrix[3]) - float(matrix[1]) * float(matrix[2])))


def _around(points: list[tuple[float, float]]) -> Box:
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
