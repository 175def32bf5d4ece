"""Runs the tool calls of one reply: admission, batches, call limits, interceptors, tool search."""
