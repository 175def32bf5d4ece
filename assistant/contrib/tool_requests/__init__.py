"""Members ask for tools that they may not use: the question that needed one reaches admins, their answer the chat."""
