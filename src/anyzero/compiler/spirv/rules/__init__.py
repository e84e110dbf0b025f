"""Rules for the operands of each instruction; one file per chapter of the instruction set."""
