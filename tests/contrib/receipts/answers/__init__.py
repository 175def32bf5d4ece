"""The committed set of answers: runs over the demo's shop, its documents and two host projects.

Answers are sentences that people wrote, filled with the data of runs. `development` was looked at while the matching
was written. `held_out` has other sentences, was written before it, and is only counted.
"""
