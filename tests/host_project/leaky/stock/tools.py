"""Tools of the warehouse, with a leak each, or their like without."""

from django.conf import settings

if settings.STOCK_TOOLS == "clean":
    from stock.clean import *  # noqa: F403
else:
    from stock.leaky import *  # noqa: F403
    from stock.sly import *  # noqa: F403
