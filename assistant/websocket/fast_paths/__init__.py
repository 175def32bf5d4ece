"""Sending an event from where it is written instead of from a task that must first be woken.

Waking a task takes a turn of the event loop, which costs more than sending a short frame. The code here relies on how
coroutines hand over the futures they wait for; without the fast path the whole coroutine is left to a task.
"""
