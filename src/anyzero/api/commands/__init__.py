"""The base of lists and queues: appending, waiting, and references to objects that commands use."""
