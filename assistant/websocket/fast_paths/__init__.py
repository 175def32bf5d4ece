"""Sends an event directly from its writer instead of waking a task to send it.

Waking a task takes a turn of the event loop, which costs more than sending a short frame. The code here relies on how
coroutines yield the futures they wait for. Without the fast path, a task runs the whole coroutine.
"""
