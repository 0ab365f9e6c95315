"""How a person meets it: the command line, the demo, replays."""
