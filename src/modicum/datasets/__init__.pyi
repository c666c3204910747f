from .dataset import Dataset, load_adult

__all__ = ["Dataset", "load_adult"]
