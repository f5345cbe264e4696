#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema.py SCHEMA.json FILE.json...: whether files are what a JSON Schema (draft 2020-12) says. Exit status 1: not."""
import json
import sys

import jsonschema


def unique(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("the same name twice in an object: " + ", ".join(sorted(n for n in names if names.count(n) > 1)))
    return dict(pairs)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            document = json.load(f, object_pairs_hook=unique)
        for error in list(validator.iter_errors(document))[:10]:
            bad += 1
            print("%s: %s: %s" % (path, "/".join(map(str, error.absolute_path)), error.message[:300]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
