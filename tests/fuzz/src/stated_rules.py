"""Drops failures that the API document explains.

A request that fits its schema may still be refused: by a rule that JSON Schema cannot express, which the document states in the
words of the refusal (`x-rules`), or by the state of the installation, which has a documented code of its own.
"""

import json
import os

import schemathesis

SCHEMA_VALID_BUT_REFUSED = "ST202"
# Schemathesis does not count 413 among the refusals; a body that breaks a limit of its schema may be too large before it is read.
SCHEMA_INVALID_BUT_TAKEN = "ST201"
BODY_TOO_LARGE = 413
# Codes of a request that is wrong in itself. `invalid_request` names a field and its rule; the others are never right here.
OF_THE_REQUEST = {"invalid_request", "malformed_json", "body_too_large", "unsupported_media_type"}

with open(os.environ["TOLLGATE_API_DOCUMENT"], encoding="utf-8") as file:
    DOCUMENT = json.load(file)


def stated_rules(part):
    """All rules below a part of the document."""
    if isinstance(part, list):
        return [rule for item in part for rule in stated_rules(item)]
    if not isinstance(part, dict):
        return []
    inner = [rule for name, item in part.items() if name != "x-rules" for rule in stated_rules(item)]
    return part.get("x-rules", []) + inner


def documented_codes(operation, status):
    response = operation["responses"].get(str(status), {})
    name = response.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["responses"].get(name, {}).get("x-codes", [])


def is_explained(operation, status, problem):
    code = problem.get("code")
    if code != "invalid_request":
        return code not in OF_THE_REQUEST and code in documented_codes(operation, status)
    rules = tuple(DOCUMENT["x-rules"] + stated_rules([operation.get("parameters"), operation.get("requestBody")]))
    errors = problem.get("errors", [])
    return bool(errors) and all(error["message"].startswith(rules) for error in errors)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if failure.code == SCHEMA_INVALID_BUT_TAKEN:
        return response.status_code != BODY_TOO_LARGE
    if failure.code != SCHEMA_VALID_BUT_REFUSED:
        return True
    operation = DOCUMENT["paths"][case.operation.path][case.operation.method.lower()]
    return not is_explained(operation, response.status_code, response.json())
