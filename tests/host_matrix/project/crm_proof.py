"""The project's own page and websocket answer as they did."""

import sys

import httpx2
from websockets.sync.client import connect

origin = sys.argv[1]
assert httpx2.get(f"{origin}/").text == "The CRM's own front page"
with connect(f"{origin.replace('http', 'ws', 1)}/ws/chat/lobby/", proxy=None) as socket:
    socket.send("hello")
    assert socket.recv(10) == "hello"
