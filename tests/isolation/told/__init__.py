"""An app with a tool that is told secrets."""
