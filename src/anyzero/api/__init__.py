"""The objects of Level Zero for Python, one noun a file; `anyzero` itself holds the public names."""
