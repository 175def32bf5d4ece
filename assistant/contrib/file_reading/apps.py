"""The Django app that reads PDFs, Office files and HTML pages."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class FileReadingConfig(OptionalApp):
    name = "assistant.contrib.file_reading"
    label = "assistant_file_reading"
    verbose_name = "Assistant: PDFs and Office files"

    def register(self) -> None:
        from assistant.services.files.reading import read_with

        read_with("assistant.contrib.file_reading.reading.read")
