"""What decides who may read a collection, and what changes one."""
