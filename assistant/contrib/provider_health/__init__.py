"""Whether it is us or the provider: how models answer, for operators, and a line in open chats while one is failing."""
