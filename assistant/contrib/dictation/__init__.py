"""Dictation: what is said is written into the message box, by browsers that can do that."""
