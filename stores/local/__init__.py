"""Memory and files in a folder."""
