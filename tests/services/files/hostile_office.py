"""Word, Excel and HTML files that are made to occupy their reader: small ones that take much time or memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.services.files.office_parts import RELATION, RELATIONS, SHEET, TYPES, WORD, make_zip

_DOCUMENT = f'<w:document xmlns:w="{WORD}"><w:body>{{}}</w:body></w:document>'
_PARAGRAPH = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
_SHEET = f'<worksheet xmlns="{SHEET}">{{}}</worksheet>'
_REFERENCES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def docx(document: str, **parts: str | bytes) -> bytes:
    """A Word file of one document in XML, and of further parts."""
    return make_zip(
        {
            "[Content_Types].xml": TYPES.format(""),
            "_rels/.rels": RELATIONS.format(RELATION.format("officeDocument", "word/document.xml")),
            "word/document.xml": document,
            **{f"word/{name}.xml": content for name, content in parts.items()},
        }
    )


def xlsx(sheet: str, strings: str = "", sheets: int = 1) -> bytes:
    """An Excel file whose sheets are all the same part."""
    names = "".join(f'<sheet name="Sheet{one}" sheetId="{one}" r:id="r1"/>' for one in range(1, sheets + 1))
    relation = RELATION.format("worksheet", "worksheets/sheet1.xml")
    if strings:
        relation += RELATION.format("sharedStrings", "sharedStrings.xml").replace('"r1"', '"r2"')
    return make_zip(
        {
            "[Content_Types].xml": TYPES.format(f'<Override PartName="/xl/workbook.xml" ContentType="{_WORKBOOK}"/>'),
            "_rels/.rels": RELATIONS.format(RELATION.format("officeDocument", "xl/workbook.xml")),
            "xl/_rels/workbook.xml.rels": RELATIONS.format(relation),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{_REFERENCES}"><sheets>{names}</sheets></workbook>',
            "xl/worksheets/sheet1.xml": sheet,
            **({"xl/sharedStrings.xml": strings} if strings else {}),
        }
    )


def unpacked_word() -> bytes:
    """A paragraph of 190 MB of blanks, just below what may be unpacked."""
    return docx(_DOCUMENT.format(_PARAGRAPH.format("Hello" + " " * 190_000_000)))


def many_paragraphs() -> bytes:
    """Two million empty paragraphs, each of which becomes an object."""
    return docx(_DOCUMENT.format("<w:p/>" * 2_000_000))


def deep_tables() -> bytes:
    """Tables within tables, 20,000 deep."""
    opened, closed = "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"
    return docx(_DOCUMENT.format(opened * 20_000 + _PARAGRAPH.format("Hello") + closed * 20_000))


def entities() -> bytes:
    """Entities that each stand for ten others, nine deep."""
    made = "".join(f'<!ENTITY e{one} "{f"&e{one - 1};" * 10}">' for one in range(1, 10))
    head = f'<!DOCTYPE d [<!ENTITY e0 "Hello">{made}]>'
    return docx(head + _DOCUMENT.format(_PARAGRAPH.format("&e9;")))


def long_word() -> bytes:
    """More text than is stored."""
    return docx(_DOCUMENT.format(_PARAGRAPH.format("word " * 500_000)))


def far_cell() -> bytes:
    """Two cells, in the first and in the last place of a sheet."""
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    return xlsx(_SHEET.format(f"<sheetData>{rows}</sheetData>"))


def shared_string() -> bytes:
    """A long text that is the value of 200,000 cells."""
    strings = f'<sst xmlns="{SHEET}"><si><t>{"word " * 6_000}</t></si></sst>'
    rows = '<row><c t="s"><v>0</v></c></row>' * 200_000
    return xlsx(_SHEET.format(f"<sheetData>{rows}</sheetData>"), strings)


def many_cells() -> bytes:
    """A sheet of 190 MB of XML, that is three million cells."""
    return xlsx(_SHEET.format(f"<sheetData><row>{'<c><v>1</v></c>' * 3_000_000}</row></sheetData>"))


def many_sheets() -> bytes:
    """A thousand sheets that are all the same one, of many cells."""
    return xlsx(_SHEET.format(f"<sheetData>{'<row><c><v>1</v></c></row>' * 50_000}</sheetData>"), sheets=1000)


def deep_page() -> bytes:
    """Elements within elements, 100,000 deep."""
    return b"<!doctype html><p>Hello</p>" + b"<div>" * 100_000


def many_elements() -> bytes:
    """Two million elements without an end, of 9 MB."""
    return b"<!doctype html>" + b"<b>a" * 2_000_000


def nested_lists() -> bytes:
    """Lists within lists, whose text each of them indents again."""
    return b"<!doctype html>" + b"<ul><li>" * 300 + b"Hello<br>" * 20_000


def open_quotes() -> bytes:
    """Attributes whose quotes are never closed, which the parser looks for again and again."""
    return b"<!doctype html>" + b"<a b='" * 300_000


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        unpacked_word, many_paragraphs, deep_tables, entities, long_word, far_cell, shared_string, many_cells,
        many_sheets, deep_page, many_elements, nested_lists, open_quotes,
    )
}  # fmt: skip
