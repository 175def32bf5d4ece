"""The program of a child process: sets its limits, then calls `work(task)` of the file that it is given.

It is run by its path, with the file, seconds, bytes of memory and niceness as arguments, and imports nothing of the
server. The task is read from standard input and the result written to standard output.
"""

from __future__ import annotations

import math
import os
import resource
import runpy
import sys

OUT_OF_MEMORY = 70
# The child imports modules and reads its pipes; a parser that opens more is stopped.
_MAX_OPEN_FILES = 64


def main(worker: str, seconds: float, memory: int, niceness: int) -> None:
    """Write the worker's result; exit with `OUT_OF_MEMORY` if it needs too much."""
    _limit(seconds, memory, niceness)
    # What the worker or its libraries print is not part of the result.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        output.write(runpy.run_path(worker)["work"](sys.stdin.buffer.read()))
        output.flush()
    except MemoryError:
        # Without clean-up, which needs memory too.
        os._exit(OUT_OF_MEMORY)


def _limit(seconds: float, memory: int, niceness: int) -> None:
    processor = math.ceil(seconds)
    limits = {
        # If the server is killed, its child still ends.
        resource.RLIMIT_CPU: (processor, processor + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (_MAX_OPEN_FILES, _MAX_OPEN_FILES),
    }
    if sys.platform == "linux":
        limits[resource.RLIMIT_AS] = (memory, memory)
    for kind, limit in limits.items():
        resource.setrlimit(kind, limit)
    os.nice(niceness)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
