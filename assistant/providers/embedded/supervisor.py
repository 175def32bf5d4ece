"""Runs the embedded model's OpenAI-compatible server (llama.cpp, from xllamacpp) in this process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

# Makes waiting threads sleep instead of spin, since the site uses the same processors. Must be set before the import.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.embedded.model import CONTEXT_TOKENS
from assistant.providers.embedded.prefill import SLOTS, read_ahead
from assistant.providers.embedded.weights import MODEL_NAME

logger = logging.getLogger(__name__)

TEMPLATE = Path(__file__).with_name("chat_template.jinja")
# Cache for conversations that are in no slot, so that they need not be processed again; a token takes 28 KB.
CACHE_MEBIBYTES = 512


def serve(
    weights: Path, *, port: int, expected: Sequence[ModelRequest], states: Path, until_stdin_closes: bool = False
) -> None:
    """Serve on 127.0.0.1 until SIGTERM or SIGINT. Does not return.

    Args:
        weights: the file, verified by the caller.
        port: where to listen.
        expected: likely beginnings of conversations, which the server processes in advance.
        states: a directory for the results of this, which are used at the next start.
        until_stdin_closes: also end when standard input closes, as when the parent process dies.

    Raises:
        RuntimeError: the port is taken, or the weights cannot be loaded.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    if until_stdin_closes:
        threading.Thread(target=_exit_with_stdin, name="stdin", daemon=True).start()
    states.mkdir(parents=True, exist_ok=True)
    server = xllamacpp.Server(_parameters(weights, port, states))
    logger.info("Serving %s on %s", MODEL_NAME, server.listening_address)
    stat = weights.stat()
    key = f"{xllamacpp.__version__} {CONTEXT_TOKENS} {stat.st_size} {stat.st_mtime_ns} {TEMPLATE.read_text()}"
    asyncio.run(read_ahead(f"http://127.0.0.1:{port}", expected, states=states, key=key))
    while True:
        signal.pause()


def _parameters(weights: Path, port: int, states: Path) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = 2 * CONTEXT_TOKENS
    parameters.n_parallel = SLOTS
    parameters.kv_unified = True  # the slots share the context: a long conversation uses that of idle slots
    parameters.cache_ram_mib = CACHE_MEBIBYTES
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = _threads()
        cpu.poll = 0
    parameters.chat_template = TEMPLATE.read_text()
    parameters.slot_save_path = f"{states}/"
    parameters.endpoint_slots = False  # it would show all prompts to every program on this machine
    parameters.cors_origins = f"http://127.0.0.1:{port}"  # web pages must not have access
    parameters.warmup = False
    parameters.verbosity = 1
    return parameters


def _threads() -> int:
    return max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def _exit_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
