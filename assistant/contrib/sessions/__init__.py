"""An optional app that keeps the conversations of `ChatClient` in the database."""
