"""The pages of the browser chat."""
