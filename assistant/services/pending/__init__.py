"""Tool calls whose results come later, from outside."""
