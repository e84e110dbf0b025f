"""What devices there are and how they look: the description that the engine is given at start-up."""
