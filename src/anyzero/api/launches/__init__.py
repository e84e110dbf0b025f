"""What a launch is made of: arguments, sizes, and the way into a list."""
