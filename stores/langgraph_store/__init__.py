"""Memory and files in a LangGraph `BaseStore`."""
