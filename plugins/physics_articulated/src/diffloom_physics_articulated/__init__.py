"""Articulated bodies for diffloom: trees of rigid links in joint coordinates."""
