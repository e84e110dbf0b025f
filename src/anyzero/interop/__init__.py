"""Other APIs beside Level Zero in one program; each has a module of its own and needs a package of its own."""
