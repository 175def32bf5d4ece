"""The tool family `weather` for `ASSISTANT_LIBRARY`."""
