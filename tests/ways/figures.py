"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit. In ways with a run, one file and two
functions are of background work that sometimes comes between.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=40, functions=99, moves=85),
    "message with a tool": Counts(files=192, functions=676, moves=522),
    "approval asked": Counts(files=178, functions=603, moves=468),
    "approval answered": Counts(files=196, functions=662, moves=527),
    "upload": Counts(files=56, functions=152, moves=112),
    "REST list": Counts(files=42, functions=100, moves=61),
    "ChatClient": Counts(files=65, functions=259, moves=203),
}
WITH_APPS = {
    "switch flipped": Counts(files=20, functions=40, moves=27),
    "MCP call": Counts(files=102, functions=298, moves=224),
    "widget token": Counts(files=48, functions=112, moves=74),
    "Responses": Counts(files=181, functions=580, moves=463),
}

# The folders of extensions, and which of their modules each way enters: what an extension is, and those that act.
EXTENSIONS = ("core/extensions/", "services/runs/extensions/")
OF_TURN = {"core/extensions/around_tools.py", "core/extensions/extension.py", "core/extensions/interceptors.py"}
OF_RUN = {*OF_TURN, "services/runs/extensions/of_run.py"}
ACTING = {
    "message with a tool": OF_RUN,
    "approval asked": OF_RUN,
    "approval answered": OF_RUN,
    "ChatClient": {*OF_TURN, "core/extensions/sent_requests.py"},
}
