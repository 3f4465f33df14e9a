"""Compiled inner loops. The only place where numba is imported."""
