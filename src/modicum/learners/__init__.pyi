from .private_network import PrivateNetwork

__all__ = ["PrivateNetwork"]
