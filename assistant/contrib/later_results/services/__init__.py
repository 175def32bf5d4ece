"""The tokens of calls whose results come later, what has come, and how runs go on."""
