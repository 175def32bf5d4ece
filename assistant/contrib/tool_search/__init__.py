"""Optional app: in runs with many tools the model is offered a search for tools, and what it has found."""
