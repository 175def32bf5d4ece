"""An optional app: how good answers are, by day, with the changes that came before and warnings of steps down."""
