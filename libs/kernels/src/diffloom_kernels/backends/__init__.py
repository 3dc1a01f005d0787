"""Where compiled code runs: processor, thread team, CUDA."""
