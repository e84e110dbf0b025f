"""Recordings of what a program does with the driver, and what can be made of them: timelines and tables.

`anyzero trace -- PROGRAM` and `with anyzero.trace("out.json"):` are the ways in.
"""
