"""The scripted stand-in that answers where there is no language model."""
