"""The Python half of the driver, the planner: it describes devices at start-up, and prepares modules and graphs.

The engine calls it to create modules, kernels and graphs, and never after that: it answers everything else by itself.
"""
