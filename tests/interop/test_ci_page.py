"""The examples of docs/ci.md are what the systems that read them accept."""

import fnmatch
import json
import pathlib
import re
import tomllib

import kubernetes_validate
import pytest
import yaml

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "ci.md").read_text()

# The classes of exit codes by which systems decide about another try.
INFRASTRUCTURE = {1, 3, 130, 143}
VERDICT_OR_USAGE = {2, 4, 5, 6}


def blocks(language):
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found, language
    return found


def documents():
    return [yaml.safe_load(block) for block in blocks("yaml")]


def test_every_block_can_be_read():
    for block in blocks("toml"):
        tomllib.loads(block)
    for block in blocks("json"):
        json.loads(block)
    assert len(documents()) >= 4


@pytest.mark.parametrize("version", ["1.31", "1.33"])
def test_the_kubernetes_job_is_valid(version):
    (job,) = [it for it in documents() if it.get("kind") == "Job"]
    # `strict` refuses fields that the schema does not know.
    kubernetes_validate.validate(job, version, strict=True)
    spec = job["spec"]
    (command,) = [it["command"] for it in spec["template"]["spec"]["containers"]]
    assert f"auto/{spec['completions']}" in command
    fail, ignore = spec["podFailurePolicy"]["rules"]
    assert fail["action"] == "FailIndex" and set(fail["onExitCodes"]["values"]) == VERDICT_OR_USAGE
    assert fail["onExitCodes"]["containerName"] == spec["template"]["spec"]["containers"][0]["name"]
    assert ignore["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_an_unknown_field_would_be_found():
    (job,) = [it for it in documents() if it.get("kind") == "Job"]
    job["spec"]["backoffLimitPerIndexes"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, "1.33", strict=True)


def test_other_systems_try_again_by_the_same_classes():
    (gitlab,) = [it for it in documents() if "retry" in it.get("replay", {})]
    assert set(gitlab["replay"]["retry"]["exit_codes"]) == INFRASTRUCTURE
    (batch,) = [json.loads(block) for block in blocks("json")]
    rules = batch["retryStrategy"]["evaluateOnExit"]
    assert len(rules) <= 5, "the service takes no more"
    codes = [rule for rule in rules if "onExitCode" in rule]
    # The first pattern that matches decides; a star stands for any end.
    for code in INFRASTRUCTURE | VERDICT_OR_USAGE:
        first = next(it for it in codes if fnmatch.fnmatch(str(code), it["onExitCode"]))
        assert (first["action"] == "RETRY") == (code in INFRASTRUCTURE), code
    assert 2 <= batch["arrayProperties"]["size"] <= 10_000


def test_the_parts_of_the_github_example_are_all_there():
    (github,) = [it for it in documents() if "report" in it.get("jobs", {})]
    shards = github["jobs"]["replay"]["strategy"]["matrix"]["shard"]
    (run,) = [step["run"] for step in github["jobs"]["replay"]["steps"] if "run" in step]
    assert shards == list(range(1, len(shards) + 1))
    assert run.endswith(f"/{len(shards)}")
