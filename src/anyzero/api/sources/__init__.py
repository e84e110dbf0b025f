"""Sources of modules and graphs, and files that they are saved to."""
