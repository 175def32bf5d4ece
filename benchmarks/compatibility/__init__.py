"""Runs the reference calls of two public sets of tool calls through the product, and compares what came of them.

`make compatibility` installs the sets into an environment of their own, and runs `benchmarks.compatibility.run` there.
"""
