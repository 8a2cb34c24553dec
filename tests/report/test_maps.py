import json
import re

import pytest

from holdfast import Diagnostics
from holdfast.errors import InputError
from holdfast.report import map_of_clients
from holdfast.report.pages import round_page
from holdfast.watching import Verdict, Verdicts

from .conftest import HOSTILE
from .documents import EXPELLED, rounds_of_verdicts


def carried(page):
    """Return the watch that a page carries for its scripts."""
    return json.loads(re.search(r'id="document">(.*?)</script>', page, re.S)[1])["watch"]


def test_the_page_of_a_map_says_without_scripts_who_is_accused():
    page = map_of_clients(rounds_of_verdicts())
    assert "round 6: 12 clients heard, 3 expelled, 0 suspected" in page
    accused = re.findall(r"<li>(client .*?)</li>", page)
    assert accused == [str(one) for one in rounds_of_verdicts()[-1] if one.client in EXPELLED]


def test_one_round_is_enough_for_a_map():
    (said,) = carried(map_of_clients(rounds_of_verdicts()[1]))["rounds"]
    assert said["round"] == 2
    assert "Nobody is suspected." in map_of_clients(rounds_of_verdicts()[1])


def test_a_map_of_several_rounds_carries_all_that_is_drawn():
    rounds = [*rounds_of_verdicts(), Verdicts(7, rewound=True)]
    watch = carried(map_of_clients(rounds, malicious={7}))
    assert [said["round"] for said in watch["rounds"]] == [1, 2, 3, 4, 5, 6, 7]
    assert (watch["hearings"], watch["rewinds"], watch["malicious"]) == ([1, 2], [7], ["7"])


@pytest.mark.parametrize("odd", [None, [], [None], "bob", [Verdict("bob", "clear", heard=1)]])
def test_what_are_no_verdicts_is_refused(odd):
    with pytest.raises(
        InputError, match=r"a map needs verdicts: those of defend\(\.\.\., watch=factions\(\)\)"
    ):
        map_of_clients(odd)


def test_names_of_clients_stay_text():
    said = Verdicts(1, (Verdict(HOSTILE, "expelled", heard=1, since=1),))
    page = map_of_clients(said)
    assert HOSTILE not in page
    assert page.count("<script") == 2
    assert carried(page)["rounds"][0]["clients"]["client"] == [HOSTILE]


def told_round(*, aggregated=True, **more):
    said = Diagnostics(rule="median", clients=("ann",), aggregated=aggregated).as_dict()
    return round_page({"rule": "median", "diagnostics": said, **more})


def test_a_round_with_a_watch_has_its_map():
    said = rounds_of_verdicts()[-1]
    page = told_round(verdicts=said.as_dict(), wants_rewind=False)
    assert "After round 6: 12 clients heard, 3 expelled, 0 suspected." in page
    assert '<div class="watch-alone"></div>' in page
    assert carried(page)["rounds"][0]["round"] == 6
    facts = re.search(r"Settings and files</span></caption>(.*?)</table>", page, re.S)[1]
    assert re.findall(r'<th scope="row">(.*?)</th>', facts) == ["rule"]
    assert "rewind is due" not in page


def test_a_round_read_from_its_json_has_the_same_page():
    document = {"verdicts": rounds_of_verdicts()[-1].as_dict(), "wants_rewind": True}
    page = told_round(**document)
    assert told_round(**json.loads(json.dumps(document))) == page
    assert "A rewind is due" in page


def test_a_hearing_is_no_failure():
    page = told_round(verdicts=rounds_of_verdicts()[0].as_dict(), aggregated=False)
    assert "A hearing: the model stays as it is" in page
    assert "Not aggregated" not in page
    assert "Not aggregated" in told_round(verdicts=rounds_of_verdicts()[3].as_dict(), aggregated=False)


def test_a_round_without_a_watch_has_no_map_and_no_scripts():
    assert "<script" not in told_round()
    assert "watch" not in re.sub(r"<style>.*?</style>", "", told_round(), flags=re.S)
