"""The paper, reproduced: published numbers, and what is measured beside them."""
