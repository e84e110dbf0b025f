"""Profiles of kernels: their time by source line, and the limit of each.

`anyzero profile -- PROGRAM` and `with anyzero.profile() as profile:` are the ways in.
"""
