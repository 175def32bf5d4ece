"""SQL that is compiled once instead of for every call.

Django takes ten times as long to compile a query as the database takes to run it. Prepared are the four queries that
cost a turn or a request most: nine tenths of what preparing all of them would save. The classes here rely on the
internals of Django's compilers; without the fast path they build the queryset for each call and let Django run it.
"""
