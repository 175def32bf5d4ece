"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=34, functions=99, moves=85),
    "message with a tool": Counts(files=94, functions=369, moves=288),
    "approval asked": Counts(files=95, functions=357, moves=273),
    "approval answered": Counts(files=104, functions=378, moves=308),
    "upload": Counts(files=47, functions=142, moves=110),
    "REST list": Counts(files=39, functions=101, moves=67),
    "ChatClient": Counts(files=36, functions=167, moves=138),
}
WITH_APPS = {
    "switch flipped": Counts(files=20, functions=46, moves=28),
    "MCP call": Counts(files=80, functions=238, moves=196),
    "widget token": Counts(files=57, functions=131, moves=95),
    "Responses": Counts(files=126, functions=432, moves=350),
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
