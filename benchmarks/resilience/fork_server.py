"""Forks server processes that start quickly: a port on standard input, the process id on standard output.

The imports, which take seconds, are done once before the first fork. Event loop, connections and runs are created in
each forked process.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

import uvicorn

from assistant.asgi.request_heads import BoundedHeads
from assistant.core.values.frame_sizes import MAX_SERVER_FRAME

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Fork one server for each line, until the end of the input."""
    module = importlib.import_module("benchmarks.resilience.planted" if "PLANTED" in os.environ else "config.asgi")
    importlib.import_module("assistant.services.warm_up").warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forked processes are not waited for
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(module.application, int(line))
        print(child, flush=True)


def _serve(application: object, port: int) -> None:
    # The options of docs/production.md.
    uvicorn.run(
        application,  # type: ignore[arg-type]
        host="127.0.0.1",
        port=port,
        http=BoundedHeads,
        ws="websockets-sansio",
        ws_max_size=MAX_SERVER_FRAME,
        ws_per_message_deflate=False,
        access_log=False,
        log_level="warning",
    )
    os._exit(0)


if __name__ == "__main__":
    main()
