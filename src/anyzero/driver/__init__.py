"""The half that plans: what devices exist, how they look, and what the engine is told at start-up.

Nothing here runs after start-up except module, kernel and graph creation; the engine answers everything else by itself.
"""
