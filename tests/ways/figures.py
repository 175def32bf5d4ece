"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=37, functions=108, moves=90),
    "message with a tool": Counts(files=105, functions=540, moves=376),
    "approval asked": Counts(files=104, functions=490, moves=345),
    "approval answered": Counts(files=116, functions=533, moves=391),
    "upload": Counts(files=50, functions=148, moves=114),
    "REST list": Counts(files=42, functions=107, moves=71),
    "ChatClient": Counts(files=36, functions=217, moves=157),
}
WITH_APPS = {
    "switch flipped": Counts(files=19, functions=45, moves=27),
    "MCP call": Counts(files=84, functions=296, moves=219),
    "widget token": Counts(files=56, functions=134, moves=96),
    "Responses": Counts(files=131, functions=514, moves=392),
}

# Extensions, and other modules of what only some turns need: branches, results that come later, questions of running
# tools. And which of them each way enters.
EXTENSIONS = (
    "core/extensions/",
    "services/runs/extensions/",
    "services/runs/opening/followed_path.py",
    "services/conversations/paths.py",
    "services/toolcalls/midway_questions.py",
)
ACTING: dict[str, set[str]] = {
    "message with a tool": set(),
    "approval asked": {"services/toolcalls/midway_questions.py"},
    "approval answered": set(EXTENSIONS[2:]),
    "ChatClient": {"core/extensions/extension.py"},
}

# How many fields the values have that a run is opened from and made of. What only one part of a turn reads belongs to
# its extension.
FIELDS = {"RunInput": 16, "RunSetup": 16, "Plan": 15}
