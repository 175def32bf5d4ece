"""Recognises the text of a scanned PDF in a child process; run by `assistant.toolkit.processes`."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import Any

# The first line of a result, as in `pdf_worker`: a text follows, or why there is none.
TEXT = "text"
TOO_MANY_PAGES = "scan_pages"
TOO_LONG = "long"
BROKEN = "broken"
EMPTY = "no_words"
BOMB = "bomb"
# Pictures of a page, and points of one of them: an A4 page at 600 dots per inch has 35 million.
MAX_PICTURES = 20
MAX_POINTS = 40_000_000
# Each library would begin threads for all processors, which take address space.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")


def work(task: bytes) -> bytes:
    """Return one of the words above, a line end, and the text in UTF-8 with form feeds between pages.

    Args:
        task: a line of JSON with the most `pages` and `characters`, and the PDF.
    """
    line, _, content = task.partition(b"\n")
    limits = json.loads(line)
    try:
        outcome, text = _read(content, limits["pages"], limits["characters"])
    except MemoryError:
        raise
    except Exception:  # parsers of untrusted files may raise anything
        outcome = BROKEN
        text = ""
    return f"{outcome}\n{text}".encode(errors="replace")


def _read(content: bytes, most_pages: int, most_characters: int) -> tuple[str, str]:
    from pypdf import PdfReader  # the server imports this module for its constants

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted:
        reader.decrypt("")
    if len(reader.pages) > most_pages:
        return TOO_MANY_PAGES, ""
    recognise = _recogniser()
    pages: list[str] = []
    for page in reader.pages:
        found: list[str] = []
        for picture in _pictures(page):
            if picture.width * picture.height > MAX_POINTS:
                return BOMB, ""
            found += recognise(picture)
        pages.append("\n".join(found))
        if sum(map(len, pages)) > most_characters:
            return TOO_LONG, ""
    return (TEXT if any(page.strip() for page in pages) else EMPTY), "\f".join(pages)


def _pictures(page: Any) -> Iterator[Any]:
    """Yield the pictures of a page as Pillow has them; what cannot be decoded is passed over."""
    for number, name in enumerate(page.images.keys()):
        if number == MAX_PICTURES:
            return
        picture = _decoded(page, name)
        if picture is not None:
            yield picture


def _decoded(page: Any, name: Any) -> Any:
    try:
        return page.images[name].image
    except MemoryError:
        raise
    except Exception:  # as above
        return None


def _recogniser() -> Any:
    """Return a function of a picture that returns its lines, from the top."""
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    import numpy as np
    from rapidocr import RapidOCR

    # Its models are part of the package: nothing is fetched.
    engine = RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )

    def lines(picture: Any) -> list[str]:
        # Blue comes first, as OpenCV has it.
        result: Any = engine(np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1]))
        return [str(text).replace("\f", " ") for text in result.txts or ()]

    return lines
