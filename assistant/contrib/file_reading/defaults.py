"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# The address space of the process that reads a file.
ASSISTANT_FILE_READ_MEMORY_MB = ENVIRONMENT.number("ASSISTANT_FILE_READ_MEMORY_MB", 512, least=128)
# Of a scanned PDF, where the extra `ocr` is installed: 0 seconds leave scans unread.
ASSISTANT_OCR_SECONDS = ENVIRONMENT.number("ASSISTANT_OCR_SECONDS", 120, least=0)
ASSISTANT_OCR_MEMORY_MB = ENVIRONMENT.number("ASSISTANT_OCR_MEMORY_MB", 3072, least=1024)

__all__ = ["ASSISTANT_FILE_READ_MEMORY_MB", "ASSISTANT_OCR_MEMORY_MB", "ASSISTANT_OCR_SECONDS"]
