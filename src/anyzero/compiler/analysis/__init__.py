"""Analyses: facts about a kernel. They read the body and change nothing."""
