"""The devices and their properties: the description that the engine gets at start-up."""
