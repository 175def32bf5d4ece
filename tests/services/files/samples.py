"""Small files of every kind for tests, good and bad."""

from __future__ import annotations

import io
import zipfile

from tests.services.knowledge.pdf import make_pdf
from tests.slow_tool.tools import PIXEL

TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>'
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
RELATION = (
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" Target="{}"/>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def make_zip(parts: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


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


PNG = PIXEL
PDF = make_pdf("Contents", "Turn the valve twice.")
DOCX = make_docx("Returns", "Thirty days.")
XLSX = make_xlsx(("Month", "Sold"), ("May", 12.0))
BOMB = make_docx("Small", filler=bytes(210 * 1024 * 1024))
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
ENCRYPTED_DOCX = OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")
