"""An optional app that says in one sentence what an answer was made from: *Why this answer?*."""
