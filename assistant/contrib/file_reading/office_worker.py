"""Turns Office documents and HTML pages into Markdown in a child process, as `pdf_worker` reads PDFs."""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, fromstring  # nosec B405

# As in `pdf_worker`; a file run by its path imports nothing of the server.
TEXT = "text"
ENCRYPTED = "encrypted"
TOO_LONG = "long"
BROKEN = "broken"
EMPTY = "empty"
BOMB = "bomb"
# What the parts of a zip file may be together, and how many there may be.
MAX_UNPACKED = 200 * 1024 * 1024
MAX_PARTS = 10_000
# A part that unpacks to more than this is refused if it is more than so many times its packed size. Honest sheets of
# repeated cells reach 60; deflate at most 1,032.
MAX_RATIO = 100
RATIO_FROM = 10 * 1024 * 1024
# What a part of a Word file or a presentation may be if it is XML: all its elements become objects.
MAX_XML = 50 * 1024 * 1024
# A bar within a cell of a table of Markdown.
BAR = "\\|"
_IS_ENCRYPTED = 0x1
# What readers cannot see: excerpts that are kept, letters that one needs, and words of a comment.
MAX_HIDDEN = 20
MAX_EXCERPT = 200
MIN_LETTERS = 12
MIN_WORDS = 6
# Elements of a page with styles of their own, and comments, that are looked at.
MAX_STYLED = 20_000
# Names in Word files, the color of paper, and half points that nobody reads.
_WORDS = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VALUE = f"{_WORDS}val"
_PAPER = ("FFFFFF", "FEFEFE", "FDFDFD")
_TINY = 4
_NOT = ("0", "false", "off")
# Of a style without blanks.
_HIDING_STYLES = [
    (kind, re.compile(rf"(?:^|;)(?:{pattern})(?:!important)?(?:;|$)"))
    for kind, pattern in (
        ("hidden", r"display:none|visibility:(?:hidden|collapse)|opacity:0?(?:\.0*)?"),
        ("tiny", r"font-size:(?:0|1px|0?\.\d+(?:px|pt)|0?\.[01]\d*r?em|0(?:px|pt|r?em|%))"),
        ("tiny", r"(?:max-)?(?:width|height):0(?:px|pt)?(?:;[^\n]{0,500})?;overflow:hidden"),
        ("tiny", r"overflow:hidden(?:;[^\n]{0,500})?;(?:max-)?(?:width|height):0(?:px|pt)?"),
        ("outside", r"(?:left|right|top|text-indent):-\d{4,}(?:px|pt)?"),
        ("white", r"color:(?:white|#fff(?:fff)?|rgba?\(255,255,255(?:,[\d.]+)?\))"),
    )
]
# Names in presentations.
_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_NOTES = "/notesSlide"
_TITLES = ("title", "ctrTitle")
# Placeholders that every slide repeats.
_REPEATED = ("sldNum", "dt", "ftr", "hdr", "sldImg")


class _Ended(Exception):
    """The file is not read; the argument is one of the words above."""


def work(task: bytes) -> bytes:
    """Return one of the words above, a line end, and the text as Markdown in UTF-8.

    Behind the word stands JSON of what readers cannot see, if there is anything: pairs of a kind and an excerpt.

    Args:
        task: a line of JSON with the `format` ("docx", "xlsx", "xlsx tables", "pptx", "html") and the most
            `characters`, and the file. The rows of sheets are CSV, or tables of Markdown whose first row is their head.
    """
    line, _, content = task.partition(b"\n")
    given = json.loads(line)
    hidden: list[tuple[str, str]] = []
    try:
        outcome = TEXT
        text = _READERS[given["format"]](content, given["characters"])
        hidden = _hidden(given["format"], content)
    except MemoryError:
        raise
    except _Ended as ended:
        outcome = str(ended)
        text = ""
    except Exception:  # parsers of untrusted files may raise anything
        outcome = BROKEN
        text = ""
    if outcome == TEXT and len(text) > given["characters"]:
        outcome = TOO_LONG
        text = ""
    if outcome == TEXT and not text.strip():
        outcome = EMPTY
    marks = f" {json.dumps(hidden)}" if outcome == TEXT and hidden else ""
    return f"{outcome}{marks}\n{text}".encode(errors="replace")


def _docx(content: bytes, most: int) -> str:
    import mammoth

    _check_zip(content, MAX_XML)

    def leave_out(image: Any) -> list[Any]:
        return []

    page = mammoth.convert_to_html(io.BytesIO(content), convert_image=leave_out)
    return _html_text(page.value, most)


def _xlsx(content: bytes, most: int) -> str:
    lines = io.StringIO()
    for name, rows in _sheets(content):
        lines.write(f"# {name}\n\n")
        written = csv.writer(lines, lineterminator="\n")
        for cells in rows:
            written.writerow(cells)
            if lines.tell() > most:
                raise _Ended(TOO_LONG)
        lines.write("\n")
    return lines.getvalue()


def _xlsx_tables(content: bytes, most: int) -> str:
    found: list[str] = []
    length = 0
    for name, rows in _sheets(content):
        found.append(f"# {name}\n")
        for number, cells in enumerate(rows):
            row = f"| {' | '.join(' '.join(cell.split()).replace('|', BAR) for cell in cells)} |"
            found.append(row)
            if number == 0:
                found.append("|" + " --- |" * len(cells))
            length += len(row)
            if length > most:
                raise _Ended(TOO_LONG)
        found.append("")
    return "\n".join(found)


def _sheets(content: bytes) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """Yield the name of each sheet and its rows, without empty rows and empty cells at their ends."""
    from python_calamine import CalamineWorkbook

    _check_zip(content, MAX_UNPACKED)
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for name in book.sheet_names:
        yield name, _rows(book.get_sheet_by_name(name))


def _rows(sheet: Any) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        cells = ["" if cell is None else _cell(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _pptx(content: bytes, most: int) -> str:
    _check_zip(content, MAX_XML)
    found = list[str]()
    length = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for text in _slides(archive):
            found.append(text)
            length += len(text)
            if length > most:
                raise _Ended(TOO_LONG)
    return "\n\n".join(found)


def _cell(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _html(content: bytes, most: int) -> str:
    return _html_text(content.decode(), most)


def _html_text(page: str, most: int) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(page, "html.parser")
    for part in soup(["script", "style", "template", "noscript", "svg", "head"]):
        part.decompose()
    return str(MarkdownConverter(heading_style="atx", strip=["img"]).convert_soup(soup))


def _slides(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the text of each slide in the order of the presentation, as Markdown with a heading."""
    links = {name: part for name, part, _ in _links(archive, "ppt/presentation.xml")}
    slides = _root(archive, "ppt/presentation.xml").iter(f"{_SLIDES}sldId")
    for number, slide in enumerate(slides, start=1):
        part = links[slide.attrib[_LINK]]
        title, *lines = _lines(_root(archive, part))
        yield f"# Slide {number}{': ' if title else ''}{title}\n\n" + "\n".join(lines)
        for _, notes, kind in _links(archive, part):
            if kind.endswith(_NOTES) and any(said := list(_lines(_root(archive, notes)))):
                yield "Notes:\n" + "\n".join(filter(None, said))


def _root(archive: zipfile.ZipFile, part: str) -> Element:
    # In a child process with limits, whose expat bounds the growth of entities.
    return fromstring(archive.read(part))  # noqa: S314  # nosec B314


def _links(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, str]]:
    """Return the relationships of a part of the package: their id, the part they lead to, and their type."""
    folder, name = posixpath.split(part)
    place = f"{folder}/_rels/{name}.rels"
    if place not in archive.namelist():
        return []
    found = (one.attrib for one in _root(archive, place) if one.attrib.get("TargetMode") != "External")
    return [(one["Id"], _absolute(folder, one["Target"]), one["Type"]) for one in found]


def _absolute(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _lines(slide: Element) -> Iterator[str]:
    """Yield a slide's title ("" if it has none), and then the lines of its other shapes and tables."""
    title = ""
    others = list[str]()
    for shape in slide.iter():
        if shape.tag == f"{_SLIDES}sp":
            place = shape.find(f".//{_SLIDES}ph")
            kind = "" if place is None else place.get("type", "")
            if kind in _TITLES and not title:
                title = " ".join(_paragraphs(shape))
            elif kind not in _REPEATED:
                others += _paragraphs(shape)
        elif shape.tag == f"{_MAIN}tr":
            others.append(" | ".join(" ".join(_paragraphs(cell)) for cell in shape.iter(f"{_MAIN}tc")))
    yield title
    yield from others


def _paragraphs(shape: Element) -> Iterator[str]:
    for paragraph in shape.iter(f"{_MAIN}p"):
        text = "".join(part.text or "" if part.tag == f"{_MAIN}t" else " " for part in _texts(paragraph))
        if text := " ".join(text.split()):
            yield text


def _texts(paragraph: Element) -> Iterator[Element]:
    return (part for part in paragraph.iter() if part.tag in (f"{_MAIN}t", f"{_MAIN}br"))


def _check_zip(content: bytes, most_xml: int) -> None:
    """Raise `_Ended` if the directory says that parts are encrypted, too many, or unpack to too much."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    if any(part.flag_bits & _IS_ENCRYPTED for part in parts):
        raise _Ended(ENCRYPTED)
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise _Ended(BOMB)
    for part in parts:
        is_growing = part.file_size > RATIO_FROM and part.file_size > MAX_RATIO * part.compress_size
        if is_growing or (part.filename.endswith((".xml", ".rels")) and part.file_size > most_xml):
            raise _Ended(BOMB)


def _hidden(form: str, content: bytes) -> list[tuple[str, str]]:
    """Return what readers of a file cannot see; nothing of a file that only its reader understands."""
    if form not in _HIDING:
        return []
    try:
        return _HIDING[form](content)
    except MemoryError:
        raise
    except Exception:  # as above
        return []


def _hidden_in_docx(content: bytes) -> list[tuple[str, str]]:
    """Return what is hidden in a Word file: by the mark for it, in white on nothing, or too small to read."""
    _check_zip(content, MAX_XML)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        styles = _Styles(_root(archive, "word/styles.xml") if "word/styles.xml" in names else None)
        found: dict[str, list[str]] = {}
        for part in names:
            if posixpath.dirname(part) == "word" and part.endswith(".xml") and part != "word/styles.xml":
                _look(_root(archive, part), styles, found)
    return _excerpts(found)


class _Styles:
    """The styles of a Word file: how each hides text, and which tables have a color."""

    def __init__(self, root: Element | None) -> None:
        rows = () if root is None else root.iter(f"{_WORDS}style")
        self._rows = {row.get(f"{_WORDS}styleId", ""): row for row in rows}

    def hides(self, name: str) -> str:
        """Return the kind in which a style hides text, by itself or by what it is based on."""
        for _step in range(10):
            row = self._rows.get(name)
            if row is None:
                return ""
            if kind := _kind_of(row.find(f"{_WORDS}rPr")):
                return kind
            name = _value(row.find(f"{_WORDS}basedOn"))
        return ""

    def paints(self, name: str) -> bool:
        """Return whether a style has a color behind its text."""
        row = self._rows.get(name)
        return row is not None and any(map(_is_filled, row.iter(f"{_WORDS}shd")))


def _look(part: Element, styles: _Styles, found: dict[str, list[str]]) -> None:
    """Collect the hidden text of a part, with what is behind each element and its paragraph's style."""
    waiting = [(part, False, "")]
    while waiting:
        element, is_painted, style = waiting.pop()
        tag = element.tag.rpartition("}")[2]
        if tag == "r":
            _note_run(element, styles, found, is_painted=is_painted, style=style)
        for name in ("pPr", "tcPr", "tblPr"):
            own = element.find(f"{_WORDS}{name}")
            if own is not None:
                is_painted = is_painted or _is_filled(own.find(f"{_WORDS}shd"))
                is_painted = is_painted or styles.paints(_value(own.find(f"{_WORDS}tblStyle")))
                style = _value(own.find(f"{_WORDS}pStyle")) or style
        # The shape around a text box has its color elsewhere.
        is_painted = is_painted or tag in ("txbxContent", "drawing", "pict") or styles.paints(style)
        waiting += [(child, is_painted, style) for child in reversed(element)]


def _note_run(run: Element, styles: _Styles, found: dict[str, list[str]], *, is_painted: bool, style: str) -> None:
    own = run.find(f"{_WORDS}rPr")
    named = ""
    has_color = False
    if own is not None:
        is_painted = is_painted or own.find(f"{_WORDS}highlight") is not None or _is_filled(own.find(f"{_WORDS}shd"))
        named = _value(own.find(f"{_WORDS}rStyle"))
        has_color = own.find(f"{_WORDS}color") is not None
    kind = _kind_of(own) or styles.hides(named) or ("" if has_color else styles.hides(style))
    if not kind or (kind == "white" and is_painted):
        return
    parts = found.setdefault(kind, [])
    if len(parts) < MAX_EXCERPT:
        parts.append("".join(text.text or "" for text in run.iter(f"{_WORDS}t")))


def _kind_of(properties: Element | None) -> str:
    if properties is None:
        return ""
    vanish = properties.find(f"{_WORDS}vanish")
    if vanish is not None and vanish.get(_VALUE, "1") not in _NOT:
        return "hidden"
    size = _value(properties.find(f"{_WORDS}sz"))
    if size.isdecimal() and int(size) <= _TINY:
        return "tiny"
    return "white" if _value(properties.find(f"{_WORDS}color")).upper() in _PAPER else ""


def _is_filled(shade: Element | None) -> bool:
    if shade is None:
        return False
    fill = shade.get(f"{_WORDS}fill", "").upper()
    return fill not in ("", "AUTO", *_PAPER) or shade.get(f"{_WORDS}themeFill") is not None


def _value(element: Element | None) -> str:
    return "" if element is None else element.get(_VALUE, "")


def _excerpts(found: dict[str, list[str]]) -> list[tuple[str, str]]:
    texts = [(kind, " ".join(" ".join(parts).split())) for kind, parts in found.items()]
    return [(kind, text[:MAX_EXCERPT]) for kind, text in texts if sum(map(str.isalnum, text)) >= MIN_LETTERS]


def _hidden_in_html(content: bytes) -> list[tuple[str, str]]:
    """Return what a page hides by styles of its elements, and comments that are sentences."""
    from bs4 import BeautifulSoup, Comment

    soup = BeautifulSoup(content.decode(), "html.parser")
    for part in soup(["script", "style", "template", "noscript", "svg", "head"]):
        part.decompose()
    found: list[tuple[str, str]] = []
    for tag in soup.find_all(lambda tag: tag.has_attr("style") or tag.has_attr("hidden"), limit=MAX_STYLED):
        kind = "hidden" if tag.has_attr("hidden") else _style_hides(tag)
        if kind:
            found += _excerpts({kind: [tag.get_text(" ")]})
        if len(found) > MAX_HIDDEN:
            break
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment), limit=MAX_STYLED):
        text = " ".join(comment.split())
        # Neither markup that is switched off nor conditions of old browsers.
        if len(text.split()) >= MIN_WORDS and not re.search(r"[<>{}]|^\[if ", text):
            found.append(("comment", text[:MAX_EXCERPT]))
    return list(dict.fromkeys(found))[:MAX_HIDDEN]


def _style_hides(tag: Any) -> str:
    """Return the kind in which the style of an element hides its text; "" of one that shows it."""
    style = re.sub(r"\s", "", str(tag["style"])[:2_000].lower())
    found = [kind for kind, pattern in _HIDING_STYLES if pattern.search(style)]
    return next((kind for kind in found if kind != "white" or not _is_on_color(tag)), "")


def _is_on_color(tag: Any) -> bool:
    around = [tag, *tag.parents]
    return any("background" in str(one.get("style", "")) or one.get("bgcolor") for one in around if one.attrs)


_HIDING = {"docx": _hidden_in_docx, "html": _hidden_in_html}
_READERS = {"docx": _docx, "xlsx": _xlsx, "xlsx tables": _xlsx_tables, "pptx": _pptx, "html": _html}
