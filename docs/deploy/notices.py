"""Write the SBOM (CycloneDX 1.6) and the licences of the installed packages: python notices.py FOLDER.

Run it in the image, so that it lists what is there: fonts, weights of encoders and data come as packages too.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path


def licence(package: Distribution) -> str:
    """Return the licence that a package declares, in one line."""
    about = package.metadata
    named = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License")]
    lines = (about.get("License-Expression") or about.get("License") or "").strip().splitlines()
    return (lines or [""])[0][:200] or ", ".join(named) or "not declared"


def main(folder: Path) -> None:
    """Write `sbom.json` and `notices.txt`."""
    packages = sorted(distributions(), key=lambda each: each.metadata["Name"].lower())
    parts, notices = [], []
    for each in packages:
        name, terms = each.metadata["Name"], licence(each)
        parts.append(
            {
                "type": "library",
                "name": name,
                "version": each.version,
                "purl": f"pkg:pypi/{name.lower()}@{each.version}",
                "licenses": [{"license": {"name": terms}}],
            }
        )
        notices.append(f"{name} {each.version}: {terms}\n")
        for file in each.files or ():
            if file.name.upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING", "OFL")):
                path = Path(str(each.locate_file(file)))
                if path.is_file():
                    notices.append(f"\n--- {file} ---\n{path.read_text('utf-8', 'replace')}\n")
    folder.mkdir(parents=True, exist_ok=True)
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts}
    (folder / "sbom.json").write_text(json.dumps(sbom, indent=1), "utf-8")
    (folder / "notices.txt").write_text("".join(notices), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
