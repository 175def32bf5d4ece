"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=37, functions=107, moves=90),
    "message with a tool": Counts(files=115, functions=613, moves=423),
    "approval asked": Counts(files=112, functions=544, moves=383),
    "approval answered": Counts(files=125, functions=604, moves=436),
    "upload": Counts(files=53, functions=160, moves=121),
    "REST list": Counts(files=43, functions=107, moves=71),
    "ChatClient": Counts(files=39, functions=233, moves=165),
}
WITH_APPS = {
    "switch flipped": Counts(files=19, functions=45, moves=27),
    "MCP call": Counts(files=85, functions=300, moves=221),
    "widget token": Counts(files=52, functions=125, moves=89),
    "Responses": Counts(files=137, functions=551, moves=418),
}

# Extensions, and other modules of what only some turns need: branches, results that come later, questions of running
# tools. And which of them each way enters: what an extension is, and those that act.
EXTENSIONS = (
    "core/extensions/",
    "services/runs/extensions/",
    "services/runs/opening/followed_path.py",
    "services/conversations/paths.py",
    "services/runs/waits.py",
    "services/toolcalls/pending_calls.py",
    "services/toolcalls/midway_questions.py",
)
OF_TURN = {"core/extensions/extension.py", "core/extensions/interceptors.py"}
OF_RUN = {*OF_TURN, "services/runs/extensions/summaries.py"}
ACTING = {
    "message with a tool": OF_RUN,
    "approval asked": {*OF_RUN, "services/toolcalls/midway_questions.py"},
    "approval answered": {*OF_RUN, *EXTENSIONS[2:]},
    "ChatClient": OF_TURN,
}

# How many fields the values have that a run is opened from and made of. What only one part of a turn reads belongs to
# its extension.
FIELDS = {"RunInput": 16, "RunSetup": 16, "Plan": 15}
