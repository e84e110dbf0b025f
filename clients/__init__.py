"""Other people's programs on this driver: fetched, run, compared with a peer, written down in docs/clients.md."""
