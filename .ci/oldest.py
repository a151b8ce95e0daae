"""The least version of every requirement of the library, one ``name==version`` a line."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text())["project"]
extras = project["optional-dependencies"]
wanted = [
    *project["dependencies"],
    *(line for name in ("plots", "cli", "parquet") for line in extras[name]),
]
least = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in wanted)
sys.stdout.write("".join(f"{name}=={version}.*\n" for name, version in least.items()))
