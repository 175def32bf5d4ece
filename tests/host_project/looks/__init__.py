"""A host project with a base template of its own, in the styles of three frameworks; the cookie `style` chooses one."""
