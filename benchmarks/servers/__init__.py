"""The servers that the product is compared with, each written as its documentation shows, and a bare relay."""
