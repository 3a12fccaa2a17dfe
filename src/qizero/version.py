"""The version, and nothing else: the build reads it here, and so does every module that states it."""

__version__ = "0.1.0"
