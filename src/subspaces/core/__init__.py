"""The mathematics: pure functions on arrays and frozen values; no estimator, no file, no plot."""
