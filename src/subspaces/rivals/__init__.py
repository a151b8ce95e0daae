"""The methods that PSC is compared with, one idea a file: no estimators, no input or output."""
