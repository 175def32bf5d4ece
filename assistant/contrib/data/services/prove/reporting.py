"""Reports of a proof: a page for people, and JUnit for continuous integration."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET  # nosec B405
from typing import Any

from django.template.loader import render_to_string

from assistant.contrib.data.services.prove.proving import Finding, Proof


def as_html(proof: Proof) -> str:
    """Return the report as a page that needs nothing else."""
    return render_to_string("assistant/data/proof.html", {"proof": proof, "tools": _by_tool(proof)})


def as_junit(proof: Proof) -> str:
    """Return the report as JUnit has it: a test case for each tool."""
    failed = {finding.tool for finding in proof.findings}
    suite = ET.Element(
        "testsuite",
        name="assistant_prove",
        tests=str(len(proof.calls)),
        failures=str(len(failed)),
        skipped=str(len(proof.skipped)),
    )
    for name, findings in _by_tool(proof):
        case = ET.SubElement(suite, "testcase", classname="assistant_prove", name=name)
        if findings:
            told = "; ".join(finding.kind for finding in findings)
            failure = ET.SubElement(case, "failure", message=told)
            failure.text = "\n\n".join(as_text(finding) for finding in findings)
        elif name in proof.skipped:
            ET.SubElement(case, "skipped", message=proof.skipped[name])
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def as_text(finding: Finding) -> str:
    """Return a finding for a terminal."""
    arguments = json.dumps(finding.arguments, ensure_ascii=False, default=str)
    door = "" if finding.door == "straight" else ", through the model's door"
    return f"{finding.tool} {finding.kind}\n  {finding.tool}({arguments}) as {finding.actor}{door}\n  {finding.detail}"


def _by_tool(proof: Proof) -> list[tuple[str, list[Finding]]]:
    found: dict[str, list[Any]] = {name: [] for name in proof.calls}
    for finding in proof.findings:
        found[finding.tool].append(finding)
    return sorted(found.items(), key=lambda one: -len(one[1]))
