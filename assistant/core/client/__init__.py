"""`ChatClient`'s parts: the reply, the context of tools, and the stores of conversations."""
