"""Two people in a room of the project's own hear each other, at an address that looks like the assistant's."""

import json
import sys

from websockets.sync.client import connect
from websockets.typing import Origin

origin = sys.argv[1]
address = f"{origin.replace('http', 'ws', 1)}/ws/chat/lobby/"
options = {"origin": Origin(origin), "proxy": None}
with connect(address, **options) as one, connect(address, **options) as other:
    one.send(json.dumps({"message": "hello"}))
    assert json.loads(other.recv(10)) == {"message": "hello", "room": "lobby"}
