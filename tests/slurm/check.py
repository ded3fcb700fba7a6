"""The merged report of the suite that Slurm has run is whole and right."""

import json
import pathlib
import sys
import xml.etree.ElementTree as xml

work = pathlib.Path(sys.argv[1])
cases = [f"case-{at:02}" for at in range(1, 25)]

report = json.loads((work / "report.json").read_text())
runs = {run["name"]: run for run in report["runs"]}
assert [run["name"] for run in report["runs"]] == cases, "each case once, in order"
assert report["exit_code"] == 5 and report["problems"] == [], report["problems"]
failed = [name for name, run in runs.items() if run["exit_code"] != 0]
assert failed == ["case-07"], failed
# The runs of all nodes are equal: one recording, one program, in lockstep.
digests = {run["digest"] for run in runs.values()}
assert len(digests) == 1 and None not in digests, digests
suites = xml.parse(work / "junit.xml").getroot().findall("testsuite")
assert sorted(suite.get("name") for suite in suites) == cases

files = {}
for file in (work / "reports").glob("*.ndjson"):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    head, last = lines[0]["suite"], lines[-1]
    files[head["shard"], head["attempt"]] = last.get("end", {}).get("why")
    assert "SLURM_ARRAY_TASK_ID" in head["from"], head["from"]
assert {shard for shard, _ in files} == set(range(1, 9)), files
# The job that was requeued has written that it was interrupted, the job of the killed node has not come to that.
assert files[3, 1] == "interrupted" and files[3, 2] == "complete", files
assert files[4, 1] is None and files[4, 2] == "complete", files
assert len(files) == 10, files
for name in ["case-03", "case-11", "case-12"]:
    assert any("attempt 2" in note for note in runs[name]["notes"]), runs[name]["notes"]
print("slurm: 24 cases, each named once; a job that was requeued and one whose node was killed have run again")
