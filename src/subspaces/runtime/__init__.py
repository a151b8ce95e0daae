"""Helpers for all packages: warnings, threads, memory, model files, checks of parameters."""
