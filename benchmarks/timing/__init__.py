"""Sections of the speed benchmark, one module each."""
