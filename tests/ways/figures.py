"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=40, functions=99, moves=85),
    "message with a tool": Counts(files=178, functions=668, moves=513),
    "approval asked": Counts(files=166, functions=594, moves=460),
    "approval answered": Counts(files=184, functions=652, moves=517),
    "upload": Counts(files=54, functions=150, moves=110),
    "REST list": Counts(files=42, functions=100, moves=61),
    "ChatClient": Counts(files=68, functions=267, moves=209),
}
WITH_APPS = {
    "switch flipped": Counts(files=20, functions=45, moves=28),
    "MCP call": Counts(files=101, functions=303, moves=225),
    "widget token": Counts(files=48, functions=112, moves=74),
    "Responses": Counts(files=178, functions=579, moves=468),
}

# The folders of extensions, and which of their modules each way enters: what an extension is, and those that act.
EXTENSIONS = ("core/extensions/", "services/runs/extensions/")
OF_TURN = {"core/extensions/around_tools.py", "core/extensions/extension.py", "core/extensions/interceptors.py"}
OF_RUN = {*OF_TURN, "services/runs/extensions/run_extension.py", "services/runs/extensions/summaries.py"}
ACTING = {
    "message with a tool": OF_RUN,
    "approval asked": OF_RUN,
    "approval answered": OF_RUN,
    "ChatClient": {*OF_TURN, "core/extensions/sent_requests.py"},
}
