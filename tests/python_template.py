"""Runs Python commands of tests in forks of one process that has imported their packages already.

Tests, and shell scripts that they run, use the program `forked_python()` like the real one. It gives its arguments,
environment, folder and open files to the template, passes signals on, and ends as the fork does. Of the options and
variables of Python `-c`, `-m`, `-` and `PYTHONPATH` count. A project's own modules are imported by the forks
themselves.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.server_template import PACKAGES

START_SECONDS = 60.0
HEADER_BYTES = 8
CLIENT = """#!{python} -IS
import array, json, os, signal, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
order = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
link.sendmsg([len(order).to_bytes({size}, "big")], files)
link.sendall(order)
pid = int(link.recv(20))
for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(one, lambda number, frame: os.kill(pid, number))
code = int(link.recv(20) or -9)
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@cache
def forked_python() -> Path:
    """Start the template of this process, and return its program, which is named `python`."""
    folder = Path(tempfile.mkdtemp(prefix="tenant-assistant-python-"))
    address = str(folder / "template")
    program = folder / "python"
    program.write_text(CLIENT.format(python=sys.executable, address=address, size=HEADER_BYTES))
    program.chmod(0o755)
    template = subprocess.Popen(
        [sys.executable, "-m", "tests.python_template", address], cwd=Path(__file__).parents[1], stdin=subprocess.PIPE
    )
    atexit.register(template.communicate)  # it ends when its input is closed
    deadline = time.monotonic() + START_SECONDS
    while not Path(address).exists():
        assert template.poll() is None and time.monotonic() < deadline, "The template of Python commands did not start."
        time.sleep(0.02)
    return program


class Forks:
    """The template's loop: accepts clients, and tells each the id and then the exit code of its fork."""

    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)

    def serve(self) -> tuple[Any, list[int]] | None:
        """Serve until the input is closed. In a fork, return its order and its open files."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is self._listener:
                    order = self._accept()
                    if order is not None:
                        return order
                else:
                    self._ended(key)

    def _accept(self) -> tuple[Any, list[int]] | None:
        client, _ = self._listener.accept()
        room = socket.CMSG_SPACE(3 * array.array("i").itemsize)
        header, ancillary, _, _ = client.recvmsg(HEADER_BYTES, room)
        files = array.array("i", ancillary[0][2]).tolist()
        with client.makefile("rb") as lines:
            order = json.loads(lines.read(int.from_bytes(header, "big")))
        pid = os.fork()
        if pid == 0:
            client.close()
            return order, files
        for number in files:
            os.close(number)
        client.send(str(pid).encode().ljust(20))
        watched = os.pidfd_open(pid)
        self._selector.register(watched, selectors.EVENT_READ, (pid, watched, client))
        self._selector.register(client, selectors.EVENT_READ, (pid, watched, client))
        return None

    def _ended(self, key: selectors.SelectorKey) -> None:
        """Tell a client how its fork ended; end the fork of a client that is gone."""
        pid, watched, client = key.data
        if watched not in self._selector.get_map():
            return
        if key.fileobj is client:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        for one in (watched, client):
            self._selector.unregister(one)
        os.close(watched)
        with suppress(OSError):
            client.send(str(os.waitstatus_to_exitcode(status)).encode())
        client.close()


def _become(order: Any, files: list[int]) -> None:
    """Turn this fork into the command that was ordered."""
    arguments, folder, environment = order
    for target, source in enumerate(files):
        os.dup2(source, target)
        os.close(source)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.path[0:1] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    if arguments[0] in ("-c", "-"):
        code, rest = (arguments[1], arguments[2:]) if arguments[0] == "-c" else (sys.stdin.read(), arguments[1:])
        sys.argv = [arguments[0], *rest]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    for package in PACKAGES:
        importlib.import_module(package)
    # What is imported stays, so the collector of a fork need not look through it, nor copy its pages.
    gc.freeze()
    if (found := Forks(sys.argv[1]).serve()) is not None:
        _become(*found)
