"""Recordings of a program's calls and commands, and the timelines and tables made from them.

`anyzero trace -- PROGRAM` and `with anyzero.trace("out.json"):` are the ways in.
"""
