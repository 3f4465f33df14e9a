"""Sections of the accuracy benchmark: what each measures, and the table it prints."""
