"""Turns Word documents, spreadsheets and HTML pages into Markdown in a child process, as `pdf_worker` reads PDFs."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

# As in `pdf_worker`; a file run by its path imports nothing of the server.
TEXT, ENCRYPTED, TOO_LONG, BROKEN, EMPTY, BOMB = "text", "encrypted", "long", "broken", "empty", "bomb"
# What the parts of a zip file may be together, and how many there may be.
MAX_UNPACKED = 200 * 1024 * 1024
MAX_PARTS = 10_000
_IS_ENCRYPTED = 0x1


class _Ended(Exception):
    """The file is not read; the argument is one of the words above."""


def work(task: bytes) -> bytes:
    """Return one of the words above, a line end, and the text as Markdown in UTF-8.

    Args:
        task: a line of JSON with the `format` ("docx", "xlsx" or "html") and the most `characters`, and the file.
    """
    line, _, content = task.partition(b"\n")
    given = json.loads(line)
    try:
        outcome, text = TEXT, _READERS[given["format"]](content, given["characters"])
    except MemoryError:
        raise
    except _Ended as ended:
        outcome, text = str(ended), ""
    except Exception:  # parsers of foreign files raise anything
        outcome, text = BROKEN, ""
    if outcome == TEXT and len(text) > given["characters"]:
        outcome, text = TOO_LONG, ""
    if outcome == TEXT and not text.strip():
        outcome = EMPTY
    return f"{outcome}\n{text}".encode(errors="replace")


def _docx(content: bytes, most: int) -> str:
    import mammoth

    _check_zip(content)

    def leave_out(image: Any) -> list[Any]:
        return []

    page = mammoth.convert_to_html(io.BytesIO(content), convert_image=leave_out)
    return _html_text(page.value, most)


def _xlsx(content: bytes, most: int) -> str:
    from python_calamine import CalamineWorkbook

    _check_zip(content)
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    lines = io.StringIO()
    for name in book.sheet_names:
        lines.write(f"# {name}\n\n")
        rows = csv.writer(lines, lineterminator="\n")
        for row in book.get_sheet_by_name(name).iter_rows():
            cells = ["" if cell is None else _cell(cell) for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                rows.writerow(cells)
            if lines.tell() > most:
                raise _Ended(TOO_LONG)
        lines.write("\n")
    return lines.getvalue()


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


def _check_zip(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    if any(part.flag_bits & _IS_ENCRYPTED for part in parts):
        raise _Ended(ENCRYPTED)
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise _Ended(BOMB)


_READERS = {"docx": _docx, "xlsx": _xlsx, "html": _html}
