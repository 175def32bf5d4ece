"""The tools that ship with the product, each family on by `ASSISTANT_LIBRARY`."""
