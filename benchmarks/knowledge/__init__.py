"""The set of questions by which retrieval is measured, and the documents that answer them among many that do not."""
