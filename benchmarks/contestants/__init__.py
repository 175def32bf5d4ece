"""Those who are compared: one agent with the tool `add` each, written as the package's documentation writes it."""
