"""Parts of a client's `RunAgentInput`, and their bounds."""
