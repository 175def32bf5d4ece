"""An app with AgentDojo's tools; their functions run in a process of their own, with AgentDojo's environment."""
