"""Sections of benchmarks/sql.py: each measures one thing in databases, as ratios within one run."""
