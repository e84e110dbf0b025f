from tests.abi.fixtures import az, context

__all__ = ["az", "context"]
