import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import settings

settings.register_profile("bounded", max_examples=30, deadline=None, derandomize=True)
settings.load_profile("bounded")
