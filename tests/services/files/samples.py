"""Small files of every kind for tests, good and bad."""

from __future__ import annotations

from assistant.services.files.reader_turns import Uploader
from tests.services.files.office_parts import (
    DRAWING,
    OFFICE,
    RELATION,
    RELATIONS,
    SHEET,
    SLIDES,
    TYPES,
    WORD,
    make_zip,
)
from tests.services.knowledge.pdf import make_pdf
from tests.slow_tool.tools import PIXEL

UPLOADER = Uploader("tests")


def make_docx(*paragraphs: str, **more: bytes) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    return make_zip(
        {
            "[Content_Types].xml": TYPES.format(""),
            "_rels/.rels": RELATIONS.format(RELATION.format("officeDocument", "word/document.xml")),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
            **{f"word/{name}.bin": content for name, content in more.items()},
        }
    )


def make_xlsx(*rows: tuple[str | float, ...]) -> bytes:
    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData>{lines}</sheetData></worksheet>'
    names = '<sheet name="Sales" sheetId="1" r:id="r1"/>'
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    kind = f'<Override PartName="/xl/workbook.xml" ContentType="{main}"/>'
    return make_zip(
        {
            "[Content_Types].xml": TYPES.format(kind),
            "_rels/.rels": RELATIONS.format(RELATION.format("officeDocument", "xl/workbook.xml")),
            "xl/_rels/workbook.xml.rels": RELATIONS.format(RELATION.format("worksheet", "worksheets/sheet1.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{space}"><sheets>{names}</sheets></workbook>',
            "xl/worksheets/sheet1.xml": sheet,
        }
    )


def make_pptx(*slides: tuple[str, ...], notes: str = "") -> bytes:
    """Return a presentation of slides, each a title and lines; `notes` are the last slide's."""
    space = f'xmlns:a="{DRAWING}" xmlns:p="{SLIDES}" xmlns:r="{OFFICE}"'

    def shape(text: str, kind: str = "") -> str:
        place = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else ""
        return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"

    def slide(title: str, *lines: str) -> str:
        shapes = "".join(map(shape, lines))
        return f"<p:sld {space}>{shapes}{shape('7', 'sldNum')}{shape(title, 'title')}</p:sld>"

    # The presentation, not the names of the parts, gives the order.
    files = [f"slides/slide{len(slides) - index}.xml" for index in range(len(slides))]
    ids = "".join(f'<p:sldId id="{256 + index}" r:id="s{index}"/>' for index in range(len(slides)))
    links = "".join(
        f'<Relationship Id="s{index}" Type="{OFFICE}/slide" Target="{name}"/>' for index, name in enumerate(files)
    )
    noted = f'<Relationship Id="r1" Type="{OFFICE}/notesSlide" Target="../notesSlides/notes.xml"/>'
    return make_zip(
        {
            "[Content_Types].xml": TYPES.format(""),
            "ppt/presentation.xml": f"<p:presentation {space}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(links),
            **{f"ppt/{name}": slide(*text) for name, text in zip(files, slides, strict=True)},
            **({"ppt/slides/_rels/slide1.xml.rels": RELATIONS.format(noted)} if notes else {}),
            "ppt/notesSlides/notes.xml": f"<p:notes {space}>{shape(notes)}</p:notes>",
        }
    )


PNG = PIXEL
PDF = make_pdf("Contents", "Turn the valve twice.")
DOCX = make_docx("Returns", "Thirty days.")
XLSX = make_xlsx(("Month", "Sold"), ("May", 12.0))
PPTX = make_pptx(("Plan", "Open a shop"), ("Costs", "Rent: 900 &amp; more"), notes="Say it slowly")
BOMB = make_docx("Small", filler=bytes(210 * 1024 * 1024))
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
ENCRYPTED_DOCX = OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")
