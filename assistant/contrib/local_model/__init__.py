"""For models on machines of one's own: serves the embedded one, and reads calls of tools that models write as text."""
