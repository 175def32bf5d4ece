"""Tests of the Responses, Files and Conversations APIs."""
