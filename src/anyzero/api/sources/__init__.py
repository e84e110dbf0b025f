"""What modules and graphs are made from, and files that they are saved to."""
