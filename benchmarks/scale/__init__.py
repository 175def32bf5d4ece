"""A simulation of many processes, and the machines that a number of members needs; from measured constants."""
