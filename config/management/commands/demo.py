"""`manage.py demo`: the short name of `assistant_demo`."""

from assistant.contrib.demo.management.commands.assistant_demo import Command

__all__ = ["Command"]
