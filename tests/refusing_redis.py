"""A Redis that answers, but refuses every command that writes, with the error that a test chooses."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FULL = "OOM command not allowed when used memory > 'maxmemory'."
READ_ONLY = "READONLY You can't write against a read only replica."
NO_SNAPSHOT = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
_HARMLESS = {b"HELLO", b"CLIENT", b"PING", b"SELECT"}


@contextmanager
def refusing_redis(error: str) -> Iterator[str]:
    """Run it until the end of the block, and yield its address."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while count := self.rfile.readline():
                sizes = range(int(count[1:]))
                words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in sizes]
                if words[0].upper() == b"HELLO":
                    answer = "-ERR unknown command 'HELLO'"
                else:
                    answer = "+OK" if words[0].upper() in _HARMLESS else f"-{error}"
                self.wfile.write(f"{answer}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            # RESP2 is negotiated without HELLO.
            yield f"redis://127.0.0.1:{server.server_address[1]}/0?protocol=2"
        finally:
            server.shutdown()
