"""An app with a tool that gets secrets in its context."""
