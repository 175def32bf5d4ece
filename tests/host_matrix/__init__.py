"""The assistant in projects of other people's making: one robot uses all of it in each of them (`make hosts`).

No part of the gate: each host has an environment of its own, with packages that are fetched. What a run saw is written
to `works_in.json`, from which README's table follows.
"""
