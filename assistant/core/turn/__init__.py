"""One user turn from plan to end: the loop, sub-agents, typed answers."""
