"""What is kept in a workspace: ledgers, MEMORY.md, cursors, maintenance."""
