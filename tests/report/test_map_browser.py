"""The map of clients and the timeline as a person meets them, in a real browser."""

import json
import re
from importlib.resources import files
from itertools import combinations

import pytest

from holdfast.report import map_of_clients
from holdfast.watching import Verdict, Verdicts

from .conftest import HOSTILE
from .documents import EXPELLED, HONEST, rounds_of_verdicts, watched_document

pytestmark = pytest.mark.browser

LOOKS = {
    "expelled": "expelled", "suspected": "suspected", "clear": "clear", "too early to tell": "early",
}  # fmt: skip


@pytest.fixture
def watched(opened):
    """A function that opens the page of a run under a watch; in it, nothing takes time to move."""
    return lambda document=None, **settings: opened(
        document or watched_document(), reduced_motion="reduce", **settings
    )


def go_to(page, round_):
    page.locator(".watched input[type=range]").fill(str(round_ - 1))


def looks(page):
    """Return for each client that is shown on the map how it looks."""
    dots = page.locator(".map .client:not([hidden])").all()
    return {
        dot.get_attribute("data-client"): dot.get_attribute("class").removeprefix("client ") for dot in dots
    }


def boxes(page, selector):
    return [one.bounding_box() for one in page.locator(selector).all() if one.is_visible()]


def apart(one, other):
    return (
        one["x"] + one["width"] <= other["x"]
        or other["x"] + other["width"] <= one["x"]
        or one["y"] + one["height"] <= other["y"]
        or other["y"] + other["height"] <= one["y"]
    )


@pytest.mark.parametrize("round_", [1, 2, 3, 4, 5, 6])
def test_every_client_is_a_dot_that_looks_as_its_standing(watched, round_):
    page = watched()
    go_to(page, round_)
    verdicts = rounds_of_verdicts()[round_ - 1]
    assert looks(page) == {one.client: LOOKS[one.standing] for one in verdicts}
    counts = ", ".join(f"{len(verdicts.of(standing))} {standing}" for standing in LOOKS)
    assert counts in page.locator(".watched .summary").inner_text()
    assert ("a hearing" in page.locator(".watched .summary").inner_text()) == verdicts.hearing


def test_who_stands_off_the_crowd_is_drawn_to_the_right_of_it(watched):
    page = watched()
    middle = {
        dot.get_attribute("data-client"): dot.locator("path").bounding_box()["x"]
        for dot in page.locator(".map .client").all()
    }
    assert min(middle[client] for client in EXPELLED) > max(middle[client] for client in HONEST) + 50


def test_a_round_is_mirrored_where_it_disagrees_with_the_next(watched):
    def heights(document):
        page = watched(document)
        go_to(page, 2)
        return [round(box["y"]) for box in boxes(page, ".map .client > path")]

    plain, turned = watched_document(), watched_document()
    for place in turned["runs"]["inv0"]["watch"]["rounds"][1]["clients"]["place"]:
        place[:] = -place[0], -place[1]
    assert heights(turned) == heights(plain)


def test_attackers_have_a_ring_where_it_is_known_who_attacks(watched, opened):
    page = watched()
    for picture in (".map", ".timeline"):
        ringed = page.locator(f"{picture} [data-attacks]").all()
        assert {one.get_attribute("data-client") for one in ringed} == set(EXPELLED)
        assert page.locator(f"{picture} .ring").count() == len(EXPELLED)
    assert "Of 3 attackers heard, 3 are expelled" in page.locator(".watched .summary").inner_text()
    unknown = opened(html=map_of_clients(rounds_of_verdicts()))
    assert unknown.locator(".ring").count() == 0
    assert "attack" not in unknown.locator(".watched").inner_text()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("round_", [3, 6])
def test_names_cover_neither_each_other_nor_a_dot(watched, width, round_):
    page = watched(viewport={"width": width, "height": 740})
    go_to(page, round_)
    names = boxes(page, ".map .who")
    assert names
    assert all(apart(one, other) for one, other in combinations(names, 2))
    assert all(apart(name, dot) for name in names for dot in boxes(page, ".map .client > path"))


def test_a_long_name_keeps_both_of_its_ends(watched):
    page = watched(watched_document(["hospital-of-the-north-1", "hospital-of-the-north-2", "c"]))
    labels = page.locator(".timeline .row .tick").all_text_contents()
    assert sorted(labels) == ["c", "hospi…orth-1", "hospi…orth-2"]
    left = page.locator(".timeline").bounding_box()["x"]
    assert min(box["x"] for box in boxes(page, ".timeline .tick")) >= left


def test_the_round_is_chosen_by_the_keyboard(watched):
    page = watched()
    slider = page.get_by_role("slider", name="Round of the map")
    slider.focus()
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("After round 1 of 6: a hearing")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext").startswith("After round 2 of 6: a hearing")


def test_the_rounds_are_played_from_the_first_to_the_last(watched):
    page = watched()
    play = page.locator(".watched .play")
    play.click()
    assert play.inner_text() == "Pause"
    assert page.locator(".watched .summary").inner_text().startswith("After round 1 of 6")
    page.wait_for_function("() => document.querySelector('.play').textContent === 'Play'")
    assert page.locator(".watched .summary").inner_text().startswith("After round 6 of 6")


def test_playing_can_be_paused(watched):
    page = watched()
    play = page.locator(".watched .play")
    play.click()
    play.click()
    assert play.inner_text() == "Play"
    assert not page.locator(".watched .summary").inner_text().startswith("After round 6")


def test_the_timeline_has_a_row_for_everybody_who_was_accused(watched):
    page = watched()
    rows = page.locator(".timeline .row").all()
    assert [row.get_attribute("data-client") for row in rows] == list(EXPELLED)
    starts = [row.locator(".stretch.expelled").bounding_box()["x"] for row in rows]
    assert starts[0] == starts[1] < starts[2]
    for row in rows:
        kinds = [one.get_attribute("class") for one in row.locator(".stretch").all()]
        assert kinds == ["stretch early", "stretch clear", "stretch suspected", "stretch expelled"]
    assert "Timeline of 3 clients; of the other 9, none was ever suspected" in page.content()
    assert page.locator(".timeline > .tick").all_text_contents()[:2] == ["hearing", "rewind"]
    hearing, first = boxes(page, ".timeline .hearing")[0], boxes(page, ".timeline .stretch.suspected")[0]
    assert hearing["x"] + hearing["width"] == pytest.approx(first["x"], abs=1)


def test_of_very_many_who_are_accused_the_first_are_drawn(opened):
    clients = tuple(Verdict(number, "expelled", heard=3, since=3) for number in range(160))
    page = opened(html=map_of_clients(Verdicts(3, (*clients, Verdict("ann", "clear", heard=3)))))
    assert page.locator(".timeline .row").count() == 150
    title = (
        "Timeline of 160 clients, the first 150 of whom are drawn; of the other 1, none was ever suspected"
    )
    assert title in page.locator(".watched").inner_text()
    assert page.locator(".map .client").count() == 161


def test_of_a_packed_run_the_timeline_knows_since_when(watched):
    def across(page):
        return [(box["x"], box["width"]) for box in boxes(page, ".timeline .stretch.expelled")]

    document = watched_document()
    whole = across(watched(document))
    watch = document["runs"]["inv0"]["watch"]
    watch["rounds"] = watch["rounds"][-1:]
    page = watched(document)
    assert across(page) == whole
    assert not page.locator(".watched .play").is_visible()


def test_pointing_at_the_timeline_chooses_round_and_client(watched):
    page = watched()
    stretch = page.locator(".timeline .row[data-client=trudy] .stretch.suspected")
    stretch.hover()
    assert page.locator(".watched .summary").inner_text().startswith("After round 4 of 6")
    assert looks(page)["trudy"] == "suspected near"
    assert page.locator(".map .path.near").count() == 1


def said_of(page, client):
    page.locator(f".map .client[data-client='{client}'] .sensor").hover(force=True)
    return page.locator(".watched .said").inner_text()


def test_pointing_at_a_client_says_its_verdict_as_python_does(watched, opened):
    verdict = next(one for one in rounds_of_verdicts()[-1] if one.client == "eve")
    page = watched()
    assert said_of(page, "eve") == str(verdict).replace("client eve", "Client eve, an attacker")
    unknown = opened(html=map_of_clients(rounds_of_verdicts()))
    assert said_of(unknown, "eve") == str(verdict).replace("client", "Client")


def test_browser_and_verdicts_say_chances_alike(opened):
    chances = [0.001 * 1.07**power for power in range(92)] + [0.04, 0.4, 0.5, 1.0, 1 / 15, 0.02857]
    sources = [
        files("holdfast.report").joinpath("scripts", f"{name}.js").read_text()
        for name in ("elements", "verdicts")
    ]
    script = "\n".join(sources)
    shown = opened().evaluate(f"(chances) => {{ {script}; return chances.map(odds); }}", chances)
    words = [str(Verdict(1, "suspected", heard=1, faction=1, false_alarm=chance)) for chance in chances]
    assert shown == [re.search(r"false alarm: (.*)\)", one)[1] for one in words]


def test_the_verdicts_are_a_table_on_demand(watched):
    page = watched()
    page.locator("details.verdicts summary").click()
    page.locator("details.verdicts tbody").wait_for()
    rows = [row.split("\t") for row in page.locator("details.verdicts tbody tr").all_inner_texts()]
    assert [row[:6] for row in rows[:3]] == [
        [client, "attacker", "expelled", str(since), "1", "6"] for client, since in EXPELLED.items()
    ]
    assert {row[0] for row in rows} == {*EXPELLED, *HONEST}
    go_to(page, 1)
    assert "after round 1" in page.locator("details.verdicts caption").inner_text()


def test_both_pictures_are_described(watched):
    page = watched()
    described = {
        name: page.locator(f"svg.{name}[role=img]").get_attribute("aria-label")
        for name in ("map", "timeline")
    }
    assert "3 expelled, 0 suspected, 9 clear" in described["map"]
    assert "3 of 12 clients were suspected or expelled, or attack" in described["timeline"]


def test_a_run_is_chosen_where_several_are_watched(watched):
    document = watched_document()
    document["runs"]["inv1"]["watch"] = watched_document(["x", "y", "z"])["runs"]["inv0"]["watch"]
    page = watched(document)
    assert "eve" in looks(page)
    page.locator(".watch select").select_option("inv1")
    assert "x" in looks(page)
    assert page.locator(".map").count() == 1


def test_a_page_without_a_watch_has_no_map(opened):
    page = opened()
    assert page.locator(".map").count() == 0
    assert "Who was found" not in page.content().partition("<script")[0]


@pytest.mark.parametrize("width", [360, 1280])
def test_the_pictures_fit_the_screen_and_follow_it(watched, width):
    page = watched(viewport={"width": width, "height": 740})
    page.locator("details.verdicts summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    other = 1640 - width
    page.set_viewport_size({"width": other, "height": 740})
    page.wait_for_function("(old) => document.querySelector('.map').clientWidth !== old", arg=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= other
    assert max(box["x"] + box["width"] for box in boxes(page, ".watched .tick")) <= other


def test_dots_move_only_for_those_who_do_not_mind(opened):
    moves = "getComputedStyle(document.querySelector('.map .client')).transitionDuration"
    assert opened(watched_document(), reduced_motion="reduce").evaluate(moves) == "0s"
    assert opened(watched_document(), reduced_motion="no-preference").evaluate(moves) != "0s"


def test_names_from_strangers_stay_text(watched, opened):
    attackers = [HOSTILE, "</svg><script>window.harmed = true</script>", '"><b>']
    for page in (
        watched(watched_document(attackers)),
        opened(html=map_of_clients(rounds_of_verdicts(attackers))),
    ):
        page.locator("details.verdicts summary").click()
        page.locator("details.verdicts tbody").wait_for()
        assert HOSTILE in page.locator("details.verdicts").inner_text()
        assert set(attackers) < set(looks(page))
        assert page.evaluate("window.harmed") is None
        assert page.locator("script").count() == 2
        assert page.locator("img").count() == 0


def test_damaged_verdicts_stop_nothing(watched):
    document = watched_document()
    watch = document["runs"]["inv0"]["watch"]
    watch |= {"hearings": None, "rewinds": ["x", None], "malicious": "eve"}
    first, second, third, *_ = watch["rounds"]
    first["clients"]["place"] = [None, "x", [1], [float("inf"), 0], [1, "y"], 3]
    second["clients"] = None
    third |= {"clients": {"client": ["eve", 7], "standing": ["unheard of"], "since": ["x"]}, "round": None}
    page = watched(json.loads(json.dumps(document).replace("Infinity", "null")))
    go_to(page, 1)
    assert set(looks(page)) == {*EXPELLED, *HONEST}
    go_to(page, 2)
    assert looks(page) == {}
    go_to(page, 5)
    assert set(looks(page)) == {*EXPELLED, *HONEST}


def test_an_honest_federation_has_nobody_to_name(opened):
    rounds = rounds_of_verdicts(n_rounds=2)
    page = opened(html=map_of_clients(rounds))
    assert "Nobody was suspected." in page.locator(".timeline").text_content()
    assert "none of 12 clients was ever suspected" in page.locator(".watched").inner_text()
