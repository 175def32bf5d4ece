"""The event log in files, for tests of all logs."""

from assistant.contrib.event_files import log as file
from assistant.contrib.event_files.log import WINDOW_BYTES, FileLog

__all__ = ["WINDOW_BYTES", "FileLog", "file"]
