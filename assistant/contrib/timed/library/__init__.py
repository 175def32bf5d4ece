"""The tool families of this app. `ASSISTANT_LIBRARY` says which of them are switched on."""
