"""The journal of tool calls, their files and incidents, and the deployment's interceptors."""
