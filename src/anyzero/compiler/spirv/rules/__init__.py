"""What the operands of each instruction must be; one file for each chapter of the instruction set."""
