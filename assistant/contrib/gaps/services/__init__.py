"""Recording of what was asked, labels of questions, and the checks of documents."""
