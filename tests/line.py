"""A TCP relay to a server, which a test can interrupt and restore."""

from __future__ import annotations

import asyncio
import contextlib


class Line:
    """Relays bytes; `cut` drops every connection and refuses new ones until `mend`.

    After `swallow` bytes are read and go nowhere, and the connections stay open: so it is when a network goes.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._swallows = False
        self._server: asyncio.Server | None = None
        self.origin = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()

    def drop(self) -> None:
        """Break every connection; new ones are served."""
        for writer in self._writers:
            writer.transport.abort()

    def cut(self) -> None:
        self._is_cut = True
        self.drop()

    def swallow(self) -> None:
        self._swallows = True

    def mend(self) -> None:
        self._is_cut = False
        self._swallows = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._writers |= {writer, far_writer}
        try:
            await asyncio.gather(self._relay(reader, far_writer), self._relay(far_reader, writer))
        finally:
            self._writers -= {writer, far_writer}
            writer.transport.abort()
            far_writer.transport.abort()

    async def _relay(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await source.read(65536):
                if not self._swallows:
                    sink.write(piece)
                    await sink.drain()
        sink.close()
