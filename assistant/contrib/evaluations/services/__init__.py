"""Questions that are asked again, and hostile ones: how they are made, and what came out."""
