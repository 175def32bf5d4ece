"""Optional app: titles of conversations and follow-up questions, which a model writes after an answer."""

# The names of the extensions, as assistants have them.
TITLES = "titles"
FOLLOW_UPS = "follow_ups"
