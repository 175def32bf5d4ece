"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=36, functions=103, moves=91),
    "message with a tool": Counts(files=97, functions=383, moves=300),
    "approval asked": Counts(files=98, functions=369, moves=285),
    "approval answered": Counts(files=109, functions=395, moves=323),
    "upload": Counts(files=51, functions=145, moves=116),
    "REST list": Counts(files=43, functions=104, moves=73),
    "ChatClient": Counts(files=36, functions=169, moves=142),
}
WITH_APPS = {
    "switch flipped": Counts(files=19, functions=45, moves=27),
    "MCP call": Counts(files=80, functions=238, moves=196),
    "widget token": Counts(files=56, functions=131, moves=96),
    "Responses": Counts(files=124, functions=432, moves=350),
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
