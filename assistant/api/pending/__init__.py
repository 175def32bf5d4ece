"""Results of tool calls that come later."""
