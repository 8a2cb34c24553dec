"""The live page as an operator meets it: a server process, a browser, and a ledger that grows meanwhile."""

import re
import sqlite3
import time
from urllib.parse import urlsplit

import pytest

from benchmarks.ledger import fill, made_up_rounds
from holdfast.ledger import open_ledger
from holdfast.report.monitor import write_monitor_page
from holdfast.report.monitor.words import name_of

from ..runs.tiny import made, watched_run
from .conftest import HOSTILE
from .ledgers import ATTACKERS, HONEST, Federation
from .monitors import monitor_process, serving

pytestmark = pytest.mark.browser

FOUND = "3 of 10 clients vote together against all others and are expelled since round 5."
LOST = re.compile(r"Failed to load resource|ERR_CONNECTION_REFUSED")


@pytest.fixture
def browse(chromium):
    """A function that opens an address; nobody may complain, or ask anybody but the server."""
    contexts, complaints = [], []

    def open_page(url, **settings):
        context = chromium.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **settings}
        )
        contexts.append(context)
        page = context.new_page()
        home = urlsplit(url)[:2]
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "request",
            lambda asked: (
                urlsplit(asked.url)[:2] == home
                or asked.url.startswith("data:")
                or complaints.append(f"request: {asked.url}")
            ),
        )
        page.goto(url)
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    # A page asks its own server, and nobody else, until it is closed; only one that has ended refuses it.
    ended = "ERR_CONNECTION_REFUSED"
    assert [one for one in complaints if ended not in one] == []


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path / "federation.db", name="hospitals")


@pytest.fixture
def trained(federation):
    federation.round(7, at=time.time())
    return federation


def says(page, text, place="#verdict .sentence"):
    page.locator(place, has_text=text).wait_for(timeout=20_000)


def rows(page):
    return [row.get_attribute("data-client") for row in page.locator(".strip").all()]


def test_the_page_follows_a_training_from_before_its_first_round(browse, tmp_path):
    with monitor_process(tmp_path / "later.db") as url:
        page = browse(url)
        says(page, "No round has ended yet.")
        assert not page.locator("#map").is_visible()
        federation = Federation(tmp_path / "later.db")
        federation.round(1, at=time.time())
        says(page, "The server listens to the clients first")
        says(page, "Live.", "#status")
        federation.round(3, at=time.time())
        says(page, "suspected")
        federation.round(1, at=time.time())
        says(page, FOUND)
        assert "The model went back to its start in round 5." in page.locator(".further").inner_text()
        assert page.locator(".tiles [data-number=expelled]").inner_text() == "3 expelled"
        assert page.locator(".map .client.expelled:not([hidden])").count() == 3
        assert set(rows(page)[:3]) == set(ATTACKERS)
        assert set(rows(page)) == {*ATTACKERS, *HONEST}
        assert "holdfast clients show eve" in page.locator(".steps").inner_text()


def test_a_simulated_training_shows_on_the_same_page(browse, tmp_path):
    pytest.importorskip("torch", reason="needs torch (sim extra)")
    path = tmp_path / "simulated.db"
    with serving(path) as server:
        page = browse(server.url)
        made(watched_run(), tmp_path / "results", ledger=path)
        says(page, "Finished. All 6 rounds are done", "#status")
        says(page, "5 of 24 clients send the same, and together they count as one client since round 3")
        assert page.locator(".map .client.as-one:not([hidden])").count() == 5
        assert page.locator("#series figure:visible").count() >= 2
        assert page.title() == "holdfast: phishing, edge-case+collude"
        assert page.locator("h1").inner_text() == "phishing, edge-case+collude"


def drawn(page):
    """Return everything on a page that is text, without what depends on the clock."""
    return page.locator("#main").inner_text(), page.locator("#strips").inner_html()


def test_a_page_that_followed_shows_the_same_as_one_that_was_opened_late(browse, federation):
    federation.round(1, at=time.time())
    with serving(federation.path) as server:
        early = browse(server.url)
        for number in range(2, 9):
            federation.round(1, at=time.time(), broken=["gus"] if number in (4, 6, 7) else ())
            if number == 6:
                with open_ledger(federation.path) as ledger:
                    ledger.decide("ban", "fay", why="asked to leave")
            says(early, f"Round {number} ended", "#status")
        late = browse(server.url)
        assert drawn(early) == drawn(late)
        assert late.locator("#lists").inner_text().count("asked to leave") == 1
        assert early.locator(".map .client:not([hidden])").count() == 10


def test_an_update_is_a_small_part_of_the_page(browse, tmp_path):
    path = tmp_path / "federation.db"
    rounds = made_up_rounds(n_clients=1000, n_rounds=12)
    with open_ledger(path) as ledger:
        for _ in range(10):
            ledger.write(next(rounds))
        with serving(path) as server:
            page = browse(server.url)
            with page.expect_response(
                lambda answer: answer.status == 200 and "api/update" in answer.url
            ) as told:
                ledger.write(next(rounds))
            assert told.value.json()["timeline"]["rounds"] == [11]
            size = int(told.value.headers["content-length"])
            whole = page.request.get(server.url)
            assert size < int(whole.headers["content-length"]) / 2
            says(page, "Round 11 ended", "#status")


def test_that_the_monitor_is_gone_is_said_and_that_it_is_back(browse, trained):
    with monitor_process(trained.path) as url:
        page = browse(url)
        says(page, "Live.", "#status")
    says(page, "Connection lost.", "#status")
    assert page.locator(".sentence").inner_text() == FOUND  # what was known stays
    trained.round(1, at=time.time())
    with monitor_process(trained.path, port=urlsplit(url).port):
        says(page, "Live. Round 8 ended", "#status")
        assert page.locator(".tiles [data-number=round]").inner_text() == "8 rounds"
    refused = [one for one in browse.complaints if LOST.search(one)]
    assert refused == browse.complaints
    browse.complaints.clear()


def test_a_training_that_is_silent_for_long_is_said_to_be(browse, federation):
    for number in range(4):
        federation.round(1, at=time.time() - 3600 + 20 * number)
    with serving(federation.path) as server:
        page = browse(server.url)
        says(page, "Silent.", "#status")
        assert (
            "Round 4 ended 59 min ago. Before, a round came every 20 s."
            in page.locator("#status").inner_text()
        )
        federation.round(1, at=time.time())
        says(page, "Live.", "#status")


def test_a_ledger_that_cannot_be_read_is_said_to_be(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        for path in trained.path.parent.glob("federation.db*"):
            path.unlink()
        trained.path.write_bytes(b"rubbish " * 1000)
        says(page, "The ledger cannot be read.", "#status")
        assert page.locator(".sentence").inner_text() == FOUND
    browse.complaints[:] = [one for one in browse.complaints if "503" not in one]


def test_rounds_that_are_undone_leave_the_page(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        says(page, FOUND)
        with open_ledger(trained.path) as ledger:
            ledger.undo(after=3, why="test")
        says(page, "are suspected")
        assert page.locator(".tiles [data-number=round]").inner_text() == "3 rounds"
        assert "After round 3 of 3" in page.locator(".summary").inner_text()


def test_the_page_opens_with_the_token_alone(browse, trained, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MONITOR_TOKEN", "a-token-of-some-length")
    with monitor_process(trained.path) as url:
        assert url.endswith("/?token=a-token-of-some-length")
        page = browse(url)
        assert "token" not in page.url
        says(page, FOUND)
        trained.round(1, at=time.time())
        says(page, "Round 8 ended", "#status")
        assert page.evaluate("document.cookie") == ""
        other = browse(url.partition("?")[0])
        assert "with the token that" in other.locator("body").inner_text()
    browse.complaints[:] = [one for one in browse.complaints if "401" not in one]


def test_the_map_goes_back_to_any_round_and_along_with_new_ones(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        slider = page.get_by_role("slider", name="Round of the map")
        assert page.locator(".summary").inner_text().startswith("After round 7 of 7")
        slider.focus()
        page.keyboard.press("Home")
        assert slider.get_attribute("aria-valuetext").startswith("After round 1 of 7: a hearing")
        trained.round(1, at=time.time())
        says(page, "After round 1 of 8", ".summary")  # whoever looks back is left there
        page.keyboard.press("End")
        trained.round(1, at=time.time())
        says(page, "After round 9 of 9", ".summary")
        assert page.locator(".map .path").count() == 3


def test_rounds_that_the_page_was_not_sent_are_fetched(browse, tmp_path):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        fill(ledger, n_clients=1500, n_rounds=12)
    with serving(path) as server:
        page = browse(server.url)
        slider = page.get_by_role("slider", name="Round of the map")
        for round_ in (11, 6, 2, 12):
            slider.fill(str(round_ - 1))
            says(page, f"After round {round_} of 12", ".summary")


def test_of_a_thousand_clients_the_rows_in_sight_exist(browse, tmp_path):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        fill(ledger, n_clients=1000, n_rounds=8)
        names = {str(one["id"]) for one in ledger.clients()}
    with serving(path) as server:
        page = browse(server.url, viewport={"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator(".strip").count() < 60
        seen = set()
        box = page.locator(".strips")
        for place in range(0, 1000, 12):
            box.evaluate("(list, top) => { list.scrollTop = top; }", place * 24)
            page.locator(f".strip[aria-posinset='{place + 1}']").wait_for(state="attached")
            seen |= set(rows(page))
        assert seen == names
        assert page.locator(".map .client").count() == 1000


def test_the_list_is_walked_by_the_keyboard(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        box = page.get_by_role("listbox", name="Clients, the most suspicious first")
        box.focus()
        page.keyboard.press("ArrowDown")
        first = page.locator(".strip[aria-selected=true]")
        assert first.get_attribute("data-client") == rows(page)[0]
        assert box.get_attribute("aria-activedescendant") == first.get_attribute("id")
        assert first.get_attribute("aria-label").startswith(
            "Client eve: expelled since round 5, votes with faction 1"
        )
        page.keyboard.press("End")
        last = page.locator(".strip[aria-selected=true]")
        assert last.get_attribute("aria-posinset") == last.get_attribute("aria-setsize") == "10"
        assert page.locator(".one-client h3").inner_text() == last.get_attribute("data-client")


def test_a_client_is_found_by_its_name_and_chosen_on_the_map(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        page.get_by_role("searchbox", name="Find a client").fill("ALL")
        assert rows(page) == ["mallory"]
        assert page.locator("#n-clients").inner_text() == "1 of 10 clients"
        trained.round(1, at=time.time())
        says(page, "Round 8 ended", "#status")
        assert rows(page) == ["mallory"]
        page.get_by_role("searchbox", name="Find a client").fill("")
        page.locator(".map .client[data-client=dora] .sensor").dispatch_event("click")  # others may cover it
        assert page.locator(".one-client h3").inner_text() == "dora"
        assert page.locator(".strip[aria-selected=true]").get_attribute("data-client") == "dora"


def test_what_was_measured_of_a_client_is_told(browse, tmp_path):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        fill(ledger, n_clients=20, n_rounds=6)
        one = next(one for one in ledger.clients() if one["norm"] is not None)
    with serving(path) as server:
        page = browse(server.url)
        page.get_by_role("searchbox", name="Find a client").fill(str(one["id"]))
        page.locator(".strip").click()
        told = page.locator(".one-client table").inner_text()
        assert f"cosine with the result\t{one['cosine']:.3f}" in told
        assert f"trimmed away\t{100 * one['trimmed']:.1f} %" in told


def test_a_row_tells_when_a_client_was_used_dropped_and_without_a_say(browse, federation):
    federation.round(6, at=time.time())
    federation.round(2, at=time.time(), broken=["ann"])
    with serving(federation.path) as server:
        page = browse(server.url)

        def ticks(client, kind):
            path = page.locator(f".strip[data-client={client}] .{kind}").get_attribute("d")
            return path.count("M")

        assert (ticks("ann", "took-part"), ticks("ann", "was-dropped")) == (3, 2)
        assert (ticks("bob", "took-part"), ticks("bob", "was-dropped")) == (5, 0)
        assert (ticks("eve", "took-part"), ticks("eve", "left-out"), ticks("eve", "was-dropped")) == (2, 3, 0)
        looks = [one.get_attribute("class") for one in page.locator(".strip[data-client=eve] .stretch").all()]
        assert looks == ["stretch early", "stretch suspected", "stretch expelled"]


def test_ids_and_reasons_from_strangers_stay_text(browse, tmp_path):
    attackers = (HOSTILE, "</svg><script>window.harmed = true</script>", '"><b onclick=x>')
    federation = Federation(tmp_path / "federation.db", attackers=attackers, name=HOSTILE)
    federation.round(6, at=time.time())
    with open_ledger(federation.path) as ledger:
        ledger.decide("ban", attackers[0], why=HOSTILE, by=HOSTILE)
    with sqlite3.connect(federation.path) as connection:  # as if another program had written it
        connection.execute("UPDATE entries SET reason = ? WHERE reason IS NOT NULL", (HOSTILE,))
        connection.execute(
            "UPDATE rounds SET rule = ?, watch = ?, notes = '[\"<img src=x>\"]'", (HOSTILE, HOSTILE)
        )
    connection.close()
    write_monitor_page(federation.path, tmp_path / "page.html")
    with serving(federation.path) as server:
        for url in (server.url, (tmp_path / "page.html").as_uri()):
            page = browse(url)
            shown = set(map(name_of, attackers))
            assert set(rows(page)[:3]) == shown
            page.locator(".strip").first.click()
            assert page.locator(".one-client h3").inner_text() in shown
            assert HOSTILE in page.locator("#lists").inner_text()
            assert page.evaluate("window.harmed") is None
            assert page.locator("script").count() == 2
            assert page.locator("img").count() == 0
        federation.round(1, at=time.time())
        live = browse(server.url)
        says(live, "Round 7 ended", "#status")
        assert live.evaluate("window.harmed") is None


def test_the_page_of_a_file_shows_the_same_and_asks_nobody(browse, trained, tmp_path):
    out = tmp_path / "page.html"
    write_monitor_page(trained.path, out)
    page = browse(out.as_uri())
    says(page, FOUND)
    assert page.locator("#status").inner_text().startswith("A page of a file. It ends with round 7, ")
    assert page.locator(".map .client.expelled:not([hidden])").count() == 3
    page.get_by_role("slider", name="Round of the map").fill("0")
    assert page.locator(".summary").inner_text().startswith("After round 1 of 7")
    with serving(trained.path) as server:
        assert drawn(browse(out.as_uri())) == drawn(browse(server.url))
    assert "connect-src" not in out.read_text().partition("</head>")[0].partition("<style>")[0]


def test_the_rounds_are_played(browse, trained, tmp_path):
    write_monitor_page(trained.path, tmp_path / "page.html")
    page = browse((tmp_path / "page.html").as_uri())
    page.locator(".play").click()
    assert page.locator(".summary").inner_text().startswith("After round 1 of 7")
    page.wait_for_function("() => document.querySelector('.play').textContent === 'Play'")
    assert page.locator(".summary").inner_text().startswith("After round 7 of 7")


def test_without_scripts_the_verdict_and_the_commands_are_there(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url, java_script_enabled=False)
        assert page.locator(".sentence").inner_text() == FOUND
        assert "holdfast clients show eve" in page.locator(".steps").inner_text()


def test_a_federation_without_a_watch_has_no_map_and_no_standings(browse, tmp_path):
    federation = Federation(tmp_path / "federation.db", watch=False)
    federation.round(3, at=time.time())
    with serving(federation.path) as server:
        page = browse(server.url)
        says(page, "No watch looks for attackers")
        assert "There is no map" in page.locator("#map").inner_text()
        assert page.locator(".strip .stretch").count() == 0
        assert page.locator(".tiles [data-number=expelled]").count() == 0


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_every_screen_in_light_and_dark(browse, trained, width, scheme):
    with serving(trained.path) as server:
        page = browse(server.url, viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for chart in page.locator("svg.chart:visible").all():
            assert chart.bounding_box()["width"] <= width
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
        assert (shade < 60) == (scheme == "dark")
        page.set_viewport_size({"width": 1640 - width, "height": 800})
        page.wait_for_function("(old) => document.querySelector('.map').clientWidth !== old", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1640 - width


def test_every_part_has_a_name_for_those_who_listen(browse, trained):
    with serving(trained.path) as server:
        page = browse(server.url)
        for picture in page.locator("svg[role=img]:visible").all():
            assert len(picture.get_attribute("aria-label")) > 20
        assert page.locator("[role=status]").count() >= 3
        for section in page.locator("main section:visible").all():
            assert section.locator("h2").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
