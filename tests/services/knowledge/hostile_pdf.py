"""PDF files that are made to occupy their reader: small files that take much time or memory, or have no end."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

CATALOG, PAGES, FONT = "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", 5
HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
TEXT = b"BT /F1 12 Tf 72 720 Td (Hello) Tj ET"


def pdf(objects: Mapping[int, str | bytes], trailer: str = "") -> bytes:
    """A PDF of numbered objects, of which 1 is the catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + (body.encode() if isinstance(body, str) else body) + b"\nendobj\n"
    start, size = len(out), max(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    for number in range(1, size):
        out += f"{places.get(number, 0):010} 00000 {'n' if number in places else 'f'} \n".encode()
    out += f"trailer\n<</Size {size}/Root 1 0 R{trailer.format(start=start)}>>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(out)


def stream(data: bytes, entries: str = "", *, times: int = 1) -> bytes:
    """A stream object, compressed `times` times."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    return f"<</Length {len(data)}/Filter[{'/FlateDecode' * times}]{entries}>>stream\n".encode() + data + b"\nendstream"


def page(content: str = "4 0 R", more: str = "") -> str:
    return f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {content}/Resources<</Font<</F1 5 0 R>>{more}>>>>"


def one_page(content: bytes, more: str = "", **objects: str | bytes) -> bytes:
    numbered = {int(name.removeprefix("o")): body for name, body in objects.items()}
    return pdf({1: CATALOG, 2: PAGES, 3: page(more=more), 4: content, FONT: HELVETICA, **numbered})


def operators() -> bytes:
    """One page of text operators, each of which is cheap."""
    return one_page(stream(b"BT /F1 1 Tf " + b"1 0 Td(a)Tj " * 400_000 + b"ET"))


def operands() -> bytes:
    """One operator with very many numbers, of which the reader makes objects."""
    return one_page(stream(b"BT /F1 1 Tf [" + b"1 " * 1_900_000 + b"] TJ ET"))


def inflation() -> bytes:
    """A page of blanks that was compressed twice."""
    return one_page(stream(TEXT + b" " * 70_000_000, times=2))


def many_inflations() -> bytes:
    """A stream of blanks that each of 900 pages has eight times."""
    kids = " ".join(f"{number} 0 R" for number in range(10, 910))
    pages: dict[int, str | bytes] = {number: page("[" + "4 0 R " * 8 + "]") for number in range(10, 910)}
    tree = f"<</Type/Pages/Kids[{kids}]/Count 900>>"
    return pdf({1: CATALOG, 2: tree, 4: stream(TEXT + b" " * 8_000_000), FONT: HELVETICA, **pages})


def nested_arrays() -> bytes:
    return one_page(stream(TEXT), o9="[" * 200_000 + "]" * 200_000, more="/X 9 0 R")


def nested_dictionaries() -> bytes:
    return one_page(stream(b"/F1 " + b"<</A " * 100_000 + b"1" + b">>" * 100_000 + b" BDC " + TEXT))


def xref_loop() -> bytes:
    """A table of contents that names itself as the one before it."""
    return pdf({1: CATALOG, 2: PAGES, 3: page(), 4: stream(TEXT), FONT: HELVETICA}, trailer="/Prev {start}")


def page_tree_loop() -> bytes:
    return pdf({1: CATALOG, 2: "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>"})


def reference_loop() -> bytes:
    return pdf({1: CATALOG, 2: PAGES, 3: page("4 0 R"), 4: "6 0 R", 6: "4 0 R", FONT: HELVETICA})


def forms() -> bytes:
    """Forms that show another one twice, twelve times over."""
    made: dict[str, str | bytes] = {}
    for number in range(10, 22):
        entries = (
            f"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F1 5 0 R>>/XObject<</N {number + 1} 0 R>>>>"
        )
        made[f"o{number}"] = stream(b"/N Do " * 2 + TEXT * 150, entries)
    made["o22"] = stream(TEXT * 150, "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F1 5 0 R>>>>")
    return one_page(stream(b"/N Do"), more="/XObject<</N 10 0 R>>", **made)


def character_map() -> bytes:
    """A font whose map of characters has a range of four billion."""
    table = (
        b"1 begincodespacerange <00000000> <ffffffff> endcodespacerange "
        b"1 beginbfrange <00000000> <ffffffff> <0041> endbfrange"
    )
    font = "<</Type/Font/Subtype/Type0/BaseFont/H/Encoding/Identity-H/ToUnicode 9 0 R>>"
    return pdf({1: CATALOG, 2: PAGES, 3: page(), 4: stream(TEXT), FONT: font, 9: stream(table)})


def image() -> bytes:
    """An image of 50,000 by 50,000 pixels."""
    entries = "/Type/XObject/Subtype/Image/Width 50000/Height 50000/BitsPerComponent 8/ColorSpace/DeviceRGB"
    return one_page(stream(b"/I Do " + TEXT), more="/XObject<</I 9 0 R>>", o9=stream(bytes(50_000_000), entries))


def long_text() -> bytes:
    """Pages of more text than is stored, from one stream."""
    kids = " ".join(f"{number} 0 R" for number in range(10, 910))
    pages: dict[int, str | bytes] = {number: page() for number in range(10, 910)}
    content = stream(b"BT /F1 1 Tf (" + b"word " * 20_000 + b")Tj ET")
    return pdf({1: CATALOG, 2: f"<</Type/Pages/Kids[{kids}]/Count 900>>", 4: content, FONT: HELVETICA, **pages})


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        operators, operands, inflation, many_inflations, nested_arrays, nested_dictionaries, xref_loop, page_tree_loop,
        reference_loop, forms, character_map, image, long_text,
    )
}  # fmt: skip
