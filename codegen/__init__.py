"""Writes every generated file of anyzero from the facts in `spec/`.

`python -m codegen` writes; `python -m codegen --check` names what is stale and exits 1.
"""
