"""The tools that ship with the product. `ASSISTANT_LIBRARY` says which families of them are switched on."""
