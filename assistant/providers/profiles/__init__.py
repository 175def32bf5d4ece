"""What kinds of providers take and give: a module for each, and `choice`, which finds the kind of an address."""
