"""What lists and queues share: appending, waiting, and holding what commands use."""
