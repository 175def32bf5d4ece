"""The tool of docs/widget.md, switched on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.docs.snippets import ROOT, blocks

_story: dict[str, Any] = {}
exec(blocks(ROOT / "docs/widget.md", "python")[1].text, _story)
who_is_asking = replace(_story["who_is_asking"], enabled_by_default=True)
