"""Questions replayed against two prompts: execution with recorded tool results, comparison, judgement."""
