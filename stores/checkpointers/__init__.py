"""Opening checkpointers, and who may work on a thread."""
