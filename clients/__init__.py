"""Third-party programs on this driver: fetched, run, compared with a peer, reported in docs/clients.md."""
