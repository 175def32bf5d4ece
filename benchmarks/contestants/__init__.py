"""The contestants of the core loop: an agent with the tool `add` for each package, as its documentation shows."""
