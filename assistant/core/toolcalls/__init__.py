"""Runs the tool calls of a reply: admission, batches, call limits, interceptors, tool search."""
