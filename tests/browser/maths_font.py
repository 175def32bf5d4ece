"""Completes the table for mathematics of the font of formulas: wide accents and arrows, which Temml writes.

    python tests/browser/maths_font.py SUBSET.woff2 noto-sans-math.woff2

The font stretches combining accents only, and its parts of arrows have connectors that no browser accepts. Needs the
packages fonttools and brotli; docs/dependencies.md says how the subset is made.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables import otTables

# Accents as Temml writes them, and the combining ones with the wide glyphs.
ACCENTS = {0x2C6: 0x302, 0x7E: 0x303, 0x2C7: 0x30C}
# Arrows by what they are made of: the glyph before the line that is repeated, and the one after it.
ARROWS: dict[int, tuple[int | str | None, int | None]] = {
    0x2192: (None, 0x2192),
    0x2190: (0x2190, None),
    0x2194: (0x2190, 0x2192),
    0x21D2: (None, 0x21D2),
    0x21D0: (0x21D0, None),
    0x21D4: (0x21D0, 0x21D2),
    0x21A6: ("bar", 0x2192),
    0x3D: ("line", None),
}
LINE = 600
CONNECTOR = 300


class Completed:
    """A font whose horizontal constructions are completed."""

    def __init__(self, font: TTFont) -> None:
        self.font = font
        self.variants = font["MATH"].table.MathVariants
        glyphs = self.variants.HorizGlyphCoverage.glyphs
        constructions = self.variants.HorizGlyphConstruction
        self.known: dict[str, Any] = dict(zip(glyphs, constructions, strict=True))
        self.names: dict[int, str] = font.getBestCmap()

    def add_accents(self) -> None:
        """Give accents the wide glyphs of the combining ones."""
        for code, combining in ACCENTS.items():
            wide = self.known[self.names[combining]]
            if code not in self.names:
                self._add_glyph(code, wide)
            construction = copy.deepcopy(wide)
            construction.MathGlyphVariantRecord[0].VariantGlyph = self.names[code]
            self.known[self.names[code]] = construction

    def _add_glyph(self, code: int, wide: Any) -> None:
        name = f"uni{code:04X}"
        first = wide.MathGlyphVariantRecord[0]
        self._put(name, copy.deepcopy(self.font["glyf"][first.VariantGlyph]), first.AdvanceMeasurement)
        for table in self.font["cmap"].tables:
            if table.isUnicode():
                table.cmap[code] = name
        self.names[code] = name

    def add_arrows(self) -> None:
        """Give arrows the parts of which long ones are put together."""
        for code, (before, after) in ARROWS.items():
            is_left = after is None and isinstance(before, int)
            line = self._line(self.names[after or code], at_end=is_left)
            parts = []
            if before == "bar":
                parts.append(self._part(self._bar(code), end=CONNECTOR))
            elif before == "line":  # an assembly of repeated parts alone is painted far too long
                parts.append(self._part(line, end=CONNECTOR))
            elif isinstance(before, int):
                parts.append(self._part(self.names[before], end=CONNECTOR))
            parts.append(self._part(line, start=LINE - 1, end=LINE - 1, is_repeated=True))
            if after is not None:
                parts.append(self._part(self.names[after], start=CONNECTOR))
            assembly = otTables.GlyphAssembly()
            assembly.ItalicsCorrection = otTables.MathValueRecord()
            assembly.ItalicsCorrection.Value = 0
            assembly.PartRecords = parts
            assembly.PartCount = len(parts)
            construction = otTables.MathGlyphConstruction()
            construction.GlyphAssembly = assembly
            construction.MathGlyphVariantRecord = []
            construction.VariantCount = 0
            self.known[self.names[code]] = construction

    def _part(self, name: str, *, start: int = 0, end: int = 0, is_repeated: bool = False) -> Any:
        part = otTables.GlyphPartRecord()
        part.glyph = name
        part.FullAdvance = self.font["hmtx"][name][0]
        part.StartConnectorLength = start
        part.EndConnectorLength = end
        part.PartFlags = int(is_repeated)
        return part

    def _levels(self, name: str, *, at_end: bool = False) -> list[tuple[int, int]]:
        """Return where lines end at a side of a glyph, as pairs of lowest and highest."""
        glyph = self.font["glyf"][name]
        side = glyph.xMax if at_end else glyph.xMin
        heights = sorted({y for x, y in glyph.getCoordinates(self.font["glyf"])[0] if abs(x - side) <= 2})
        return list(zip(heights[::2], heights[1::2], strict=True))

    def _line(self, name: str, *, at_end: bool) -> str:
        return self._drawn(f"{name}.line", [(0, low, LINE, high) for low, high in self._levels(name, at_end=at_end)])

    def _bar(self, code: int) -> str:
        ((low, high),) = self._levels(self.names[code])
        ((bottom, top),) = self._levels(self.names[0x2192])
        return self._drawn("mapsto.bar", [(51, low, 51 + top - bottom, high), (51, bottom, LINE, top)])

    def _drawn(self, name: str, boxes: list[tuple[int, int, int, int]]) -> str:
        pen = TTGlyphPen(None)
        for left, low, right, high in boxes:
            pen.moveTo((left, low))
            for place in ((left, high), (right, high), (right, low)):
                pen.lineTo(place)
            pen.closePath()
        self._put(name, pen.glyph(), LINE)
        return name

    def _put(self, name: str, glyph: Any, advance: int) -> None:
        if name not in self.font["glyf"].glyphs:
            self.font.setGlyphOrder([*self.font.getGlyphOrder(), name])
        self.font["glyf"].glyphs[name] = glyph
        self.font["glyf"].glyphOrder = self.font.getGlyphOrder()
        glyph.recalcBounds(self.font["glyf"])
        self.font["hmtx"][name] = (advance, getattr(glyph, "xMin", 0))

    def close(self) -> None:
        """Write the constructions into the table, in the order of the glyphs."""
        names = sorted(self.known, key=self.font.getGlyphID)
        self.variants.HorizGlyphCoverage.glyphs = names
        self.variants.HorizGlyphConstruction = [self.known[name] for name in names]
        self.variants.HorizGlyphCount = len(names)


def main(source: str, target: str) -> None:
    """Complete a font, and save it as WOFF2."""
    font = TTFont(source)
    completed = Completed(font)
    completed.add_accents()
    completed.add_arrows()
    completed.close()
    font.flavor = "woff2"
    font.save(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
