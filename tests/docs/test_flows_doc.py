"""Every flow of docs/flows.md runs, and is as short as the page says that flows are."""

from __future__ import annotations

from tests.docs.snippets import ROOT, blocks

FLOWS = ("## Sequential", "## Parallel", "## Routing", "## Loop", "## Supervisor")


def test_the_flows_run() -> None:
    story: dict[str, object] = {"__name__": __name__}
    for block in blocks(ROOT / "docs/flows.md", "python"):
        padded = "\n" * block.line + block.text
        exec(compile(padded, str(block.document), "exec", dont_inherit=True), story)


def test_each_flow_is_about_fifteen_lines() -> None:
    text = (ROOT / "docs/flows.md").read_text()
    for heading in FLOWS:
        code = text.partition(f"\n{heading}\n")[2].partition("```python\n")[2].partition("```")[0]
        assert 5 < len([line for line in code.splitlines() if line.strip()]) <= 16, heading
