"""What happens: one node a file, each usable in any other `StateGraph`."""
