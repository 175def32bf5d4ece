"""The sessions of a person in browsers, listed on the page of their account, and signed out there."""
