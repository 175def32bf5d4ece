"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=39, functions=109, moves=92),
    "message with a tool": Counts(files=127, functions=639, moves=445),
    "approval asked": Counts(files=121, functions=565, moves=401),
    "approval answered": Counts(files=137, functions=631, moves=456),
    "upload": Counts(files=53, functions=159, moves=119),
    "REST list": Counts(files=43, functions=106, moves=70),
    "ChatClient": Counts(files=48, functions=264, moves=190),
}
WITH_APPS = {
    "switch flipped": Counts(files=20, functions=45, moves=28),
    "MCP call": Counts(files=94, functions=309, moves=233),
    "widget token": Counts(files=50, functions=120, moves=85),
    "Responses": Counts(files=158, functions=572, moves=452),
}

# The folders of extensions, and which of their modules each way enters: what an extension is, and those that act.
EXTENSIONS = ("core/extensions/", "services/runs/extensions/")
OF_TURN = {"core/extensions/extension.py", "core/extensions/interceptors.py"}
OF_RUN = {*OF_TURN, "services/runs/extensions/run_extension.py", "services/runs/extensions/summaries.py"}
ACTING = {
    "message with a tool": OF_RUN,
    "approval asked": OF_RUN,
    "approval answered": OF_RUN,
    "ChatClient": {*OF_TURN, "core/extensions/sent_requests.py"},
}

# How many fields the values have that a run is opened from and made of. What only one part of a turn reads belongs to
# its extension.
FIELDS = {"RunInput": 16, "RunSetup": 18, "Plan": 17}
