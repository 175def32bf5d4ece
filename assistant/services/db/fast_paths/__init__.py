"""SQL that is compiled once instead of for every call.

Django takes ten times as long to compile a query as the database takes to run it. Prepared are the four queries of the
core that cost a turn or a request most (docs/performance.md), nine tenths of what preparing all of them would save, and
two of apps, which say what a turn may read of documents. The classes here rely on the internals of Django's compilers;
without the fast path they build the queryset for each call and let Django run it.
"""
