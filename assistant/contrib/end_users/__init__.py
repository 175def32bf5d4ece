"""End users of tenants' own products: the widget on their pages, and the tokens with which it speaks for them."""
