"""Tool definitions: the decorator, the `Tool` class and function signatures."""
