"""Parts of a turn that act in some runs only: what an extension is, and those that the core ships."""
