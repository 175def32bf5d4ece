"""How large a websocket frame may be, and what bounds the rest that a server takes."""

from __future__ import annotations

# A larger frame is answered with `protocol_error`.
MAX_FRAME = 256 * 1024
# A larger frame closes the connection. Servers are started with this bound (uvicorn: `--ws-max-size`), and never hold
# more of a frame. It leaves room for a `protocol_error` if a frame is only a little too large.
MAX_SERVER_FRAME = 320 * 1024
# The protocol that servers are started with (uvicorn: `--http`), which bounds the heads of requests.
HTTP_PROTOCOL = "assistant.asgi.request_heads:BoundedHeads"
