"""Reads a Kconfig file and a configuration as Zephyr and ESP-IDF do, by kconfiglib; prints what comes out of them.

kconfig.py KCONFIG OUT [FRAGMENT...]   A warning is an error: an unknown symbol, a value that was not taken.
"""
import sys

import kconfiglib

kconf = kconfiglib.Kconfig(sys.argv[1], warn_to_stderr=False)
kconf.warn_assign_undef = True
for fragment in sys.argv[3:]:
    kconf.load_config(fragment, replace=False)
wanted = [line.strip() for name in sys.argv[3:] for line in open(name) if line.startswith("CONFIG_RFM")]
kconf.write_config(sys.argv[2])
got = open(sys.argv[2]).read().split("\n")
problems = list(kconf.warnings) + ["not taken: " + line for line in wanted if line not in got]
print("\n".join(sorted(s.name for s in kconf.unique_defined_syms)))
if problems:
    sys.exit("\n".join(problems))
