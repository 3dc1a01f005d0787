"""A contact law from outside of diffloom: foam."""
