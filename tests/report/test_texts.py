import csv
import io
import json

import pytest

from holdfast.errors import InputError
from holdfast.paper import experiments_named, judge_claims
from holdfast.paper.experiment import document
from holdfast.report.texts import check_format, document_text


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nothing")
    return document(experiments_named(["table4", "table5"]), folder, scale="cpu", judge=judge_claims)


def test_csv_is_one_table_with_one_head(found):
    rows = list(csv.DictReader(io.StringIO(document_text(found, "csv"))))
    assert {row["experiment"] for row in rows} == {"table4", "table5"}
    assert len(rows) == sum(len(one["cells"]) for one in found["experiments"])


def test_markdown_has_the_claims_and_every_table(found):
    text = document_text(found, "markdown")
    assert text.startswith("## Claims")
    assert all(f"### {one['title']}" in text for one in found["experiments"])


def test_latex_has_every_table(found):
    assert document_text(found, "latex").count("\\begin{table}") == 2


def test_json_is_the_document(found):
    assert json.loads(document_text(found, "json")) == json.loads(json.dumps(found))


def test_another_format_is_refused():
    with pytest.raises(InputError, match="must be one of html, markdown, csv, latex, json; got 'word'"):
        check_format("word")
