"""Files that people upload: what they are, their text, and the attachments of conversations."""
