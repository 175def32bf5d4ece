"""An app whose tools change the world, so that what they did can be counted."""
