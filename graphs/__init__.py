"""How it is wired: the agent graph, its triggers, and entry points for Studio."""
