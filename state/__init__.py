"""What a thread is: channels, configuration, the projection, counting. Pure."""
