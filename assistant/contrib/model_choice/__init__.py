"""The model that answers is chosen in the message box, where an assistant has others besides its own."""
