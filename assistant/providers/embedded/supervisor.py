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

# Threads that wait are to sleep: the site and the tools run on the same processors. Read when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.embedded.model import CONTEXT_TOKENS
from assistant.providers.embedded.prefill import SLOTS, read_ahead
from assistant.providers.embedded.weights import MODEL_NAME

logger = logging.getLogger(__name__)

TEMPLATE = Path(__file__).with_name("chat_template.jinja")
# Conversations that no slot has room for are kept here, so that going back to one costs nothing: 28 KB a token.
CACHE_MEBIBYTES = 512


def serve(
    weights: Path, *, port: int, expected: Sequence[ModelRequest], states: Path, until_stdin_closes: bool = False
) -> None:
    """Serve on 127.0.0.1 until SIGTERM or SIGINT. Does not return.

    Args:
        weights: the file, checked by the caller.
        port: where to listen.
        expected: how conversations will probably begin; the server reads that before anybody asks.
        states: a directory where what it read is kept, so that the next start need not repeat it.
        until_stdin_closes: also end when standard input does, as it does when the process that holds it dies.

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
    parameters.kv_unified = True  # the slots share the context, and one that needs more takes it from idle ones
    parameters.cache_ram_mib = CACHE_MEBIBYTES
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = _threads()
        cpu.poll = 0
    parameters.chat_template = TEMPLATE.read_text()
    parameters.slot_save_path = f"{states}/"
    parameters.endpoint_slots = False  # would show everybody's prompts to every program of this machine
    parameters.cors_origins = f"http://127.0.0.1:{port}"  # no page in a browser is to talk to it
    parameters.warmup = False
    parameters.verbosity = 1
    return parameters


def _threads() -> int:
    return max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def _exit_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
