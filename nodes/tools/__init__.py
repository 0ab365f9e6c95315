"""The tools that the agent itself can call."""
