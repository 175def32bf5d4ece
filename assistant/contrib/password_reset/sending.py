"""Messages that are sent beside the answer, whose time does not tell whether there was one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from assistant.toolkit.carried_context import CarriedContext

logger = logging.getLogger(__name__)

# Messages that wait for a thread. Further ones are dropped, so that a slow mail server does not fill the memory.
MAX_WAITING = 200
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="assistant-mail")
_places = threading.BoundedSemaphore(MAX_WAITING)


def send_soon(send: Callable[[], object]) -> None:
    """Call `send` in another thread, so that the time of the caller's answer does not tell whether anything was sent.

    It must not use the database, and runs in the caller's language. A process that stops calls it first.
    """
    if not _places.acquire(blocking=False):
        logger.error("An e-mail was not sent, because %d wait already", MAX_WAITING)
        return
    _threads.submit(_send_and_leave, CarriedContext(), send)


def _send_and_leave(context: CarriedContext, send: Callable[[], object]) -> None:
    try:
        context.run(send)
    except Exception:
        # Without the address: it is personal.
        logger.exception("An e-mail could not be sent")
    finally:
        _places.release()
