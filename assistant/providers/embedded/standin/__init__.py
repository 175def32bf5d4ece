"""The stand-in for a language model: answers by rules."""
