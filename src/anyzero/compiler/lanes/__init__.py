"""The execution model of CPUs: a vector of work-items at a time, each in a lane of the vector registers."""
