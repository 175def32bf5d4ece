"""What a tool is: the decorator, the `Tool` class, reading a function's signature."""
