"""An app whose tools have effects that can be counted."""
