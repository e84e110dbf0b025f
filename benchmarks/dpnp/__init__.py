"""dpnp on this driver beside dpnp on Intel's CPU runtime: the same Python program, two SYCL devices."""
