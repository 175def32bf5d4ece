"""URLs of other projects, with pages of their own around the assistant's."""
