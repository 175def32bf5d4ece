"""Requests in OpenAI's formats as the input of runs, and stored responses."""
