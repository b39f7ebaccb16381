"""Writes the wheel: wheel.py BUILD. A zip file in the form that pip takes, without dates and users in it."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

here = os.path.dirname(os.path.abspath(__file__))
build = sys.argv[1]


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


with open(os.path.join(here, "..", "..", "rfm", "rfm.h")) as file:
    version = ".".join(re.findall(r"#define RFM_VERSION_[A-Z]+ +(\d+)", file.read()))
module = content(here, "rfm.py")
if f'__version__ = "{version}"'.encode() not in module:
    sys.exit(f"wheel: rfm.py has another version than rfm.h, which has {version}")

soname = "librfm.so." + version.split(".")[0]
library = os.path.join(build, "dist", soname)
shutil.copyfile(os.path.join(build, soname), library)
if shutil.which("strip"):
    subprocess.run(["strip", "--strip-unneeded", library], check=True)

tag = "py3-none-" + re.sub("[^a-z0-9]", "_", sysconfig.get_platform().lower())
info = f"rfm-{version}.dist-info"
metadata = f"""Metadata-Version: 2.1
Name: rfm
Version: {version}
Summary: Recursive Feature Machines: kernel machines that learn which features matter
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""
files = {
    "rfm/__init__.py": module,
    "rfm/py.typed": b"",
    f"rfm/{soname}": content(library),
    f"{info}/LICENSE": content(here, "..", "..", "LICENSE"),
    f"{info}/METADATA": metadata.encode() + content(here, "README.md"),
    f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: rfm\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
}
os.unlink(library)
record = ""
for name, data in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

path = os.path.join(build, "dist", f"rfm-{version}-{tag}.whl")
with zipfile.ZipFile(path + ".tmp", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.create_system, entry.external_attr = 3, (0o755 if ".so" in name else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)
os.replace(path + ".tmp", path)
print(path)
