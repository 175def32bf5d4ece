"""What goes wrong in groups, each with a proposal, and annotations of conversations."""
