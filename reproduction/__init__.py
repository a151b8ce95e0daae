"""The paper's tables and figures, measured and set beside its numbers; `make reproduce`."""
