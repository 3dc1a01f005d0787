"""From plain Python to compiled code: reading, specialising, writing, keeping."""
