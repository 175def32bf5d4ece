"""The tool family `collections` for `ASSISTANT_LIBRARY`."""
