"""The ways through the product, and how much each enters: files, functions, and moves from a file to another.

A figure may fall without a word; one that has to rise says why in its commit.
"""

from __future__ import annotations

from tests.ways.counting import Counts

CORE = {
    "handshake": Counts(files=40, functions=98, moves=83),
    "message with a tool": Counts(files=189, functions=664, moves=514),
    "approval asked": Counts(files=175, functions=591, moves=459),
    "approval answered": Counts(files=192, functions=648, moves=518),
    "upload": Counts(files=56, functions=152, moves=112),
    "REST list": Counts(files=42, functions=100, moves=61),
    "ChatClient": Counts(files=66, functions=242, moves=185),
}
WITH_APPS = {
    "switch flipped": Counts(files=20, functions=40, moves=27),
    "MCP call": Counts(files=102, functions=297, moves=223),
    "widget token": Counts(files=45, functions=109, moves=71),
    "Responses": Counts(files=178, functions=568, moves=456),
}
