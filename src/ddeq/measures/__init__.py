"""Point clouds as measures, kernels, divergences between measures, and metrics."""
