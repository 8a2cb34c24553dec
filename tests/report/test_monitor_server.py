"""The server of the live page, asked by friends and by strangers."""

import hashlib
import json
import socket
import stat
from urllib.parse import urlsplit

import pytest

from holdfast.report.monitor.guard import HEADERS, Guard
from holdfast.report.monitor.server import MOST_REQUESTS

from .ledgers import Federation
from .monitors import asked, serving

TOKEN = "correct-horse-battery"
PATHS = ("/", "/api/update", "/api/map?round=1", "/metrics", "/nothing")


@pytest.fixture
def ledger(tmp_path):
    federation = Federation(tmp_path / "federation.db")
    federation.round(3)
    return federation.path


@pytest.fixture
def server(ledger):
    with serving(ledger) as started:
        yield started


@pytest.fixture
def locked(ledger):
    with serving(ledger, guard=Guard(token=TOKEN)) as started:
        yield started


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_says_how_it_may_be_used(server, path):
    _, headers, _ = asked(server.url, path)
    for name in HEADERS:
        assert headers[name], name
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]


def test_the_page_carries_the_document_and_a_policy_without_inline_scripts(server):
    status, headers, body = asked(server.url)
    page = body.decode()
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert "connect-src &#39;self&#39;" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7333", "127.0.0.1.evil.example", "", "[::1", "a b"]
)
@pytest.mark.parametrize("path", PATHS)
def test_another_name_for_this_server_is_refused(server, host, path):
    status, _, body = asked(server.url, path, Host=host)
    assert status == 403
    assert b"eve" not in body.replace(host.encode(), b"")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:7333", "127.0.0.1", "[::1]:80", "10.0.0.7:7333"])
def test_addresses_and_the_own_name_are_answered(server, host):
    assert asked(server.url, Host=host)[0] == 200


def test_a_name_is_answered_once_it_is_allowed(ledger):
    with serving(ledger, guard=Guard(names=["Monitor.Example"])) as server:
        assert asked(server.url, Host="monitor.example")[0] == 200
        assert asked(server.url, Host="evil.example")[0] == 403


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": "holdfast-monitor=wrong"},
        {"Cookie": f"{Guard(token=TOKEN).cookie}=wrong"},
        {"Cookie": 'a="\\'},
    ],
)
def test_without_the_token_nothing_is_told(locked, path, headers):
    status, told, body = asked(locked.url, path, **headers)
    assert (status, told["WWW-Authenticate"]) == (401, "Bearer")
    assert b"eve" not in body
    assert TOKEN.encode() not in body
    assert asked(locked.url, f"/?token={TOKEN[:-1]}")[0] == 401


def test_the_token_opens_the_page_and_leaves_the_address(locked):
    status, headers, body = asked(locked.url, f"/?token={TOKEN}")
    assert (status, headers["Location"], body) == (303, "./", b"")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    for path in PATHS[:-1]:
        assert asked(locked.url, path, Cookie=cookie.partition(";")[0])[0] == 200
        assert asked(locked.url, path, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_the_token_does_not_help_against_a_wrong_name(locked):
    assert asked(locked.url, f"/?token={TOKEN}", Host="evil.example")[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_no_data(server, site):
    for path in PATHS[1:]:
        assert asked(server.url, path, Sec_Fetch_Site=site)[0] == 403
    assert asked(server.url, "/", Sec_Fetch_Site=site)[0] == 200  # a link to it may be followed


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server, ledger, method):
    before = hashlib.sha256(ledger.read_bytes()).hexdigest()
    status, headers, _ = asked(server.url, "/api/update", method=method)
    assert status == 501
    assert headers["X-Frame-Options"] == "DENY"
    for path in PATHS:
        asked(server.url, path)
    assert hashlib.sha256(ledger.read_bytes()).hexdigest() == before


def test_a_head_has_no_body(server):
    status, headers, body = asked(server.url, method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000


def test_answers_are_packed_for_those_who_can_unpack(server):
    _, plain, page = asked(server.url)
    _, packed, same = asked(server.url, Accept_Encoding="gzip, br")
    assert packed["Content-Encoding"] == "gzip"
    assert int(packed["Content-Length"]) < int(plain["Content-Length"]) / 2
    assert same == page


def test_nothing_new_is_no_content(server):
    first = json.loads(asked(server.url, "/api/update")[2])
    assert asked(server.url, f"/api/update?tag={first['tag']}&last={first['last']}")[::2] == (204, b"")


@pytest.mark.parametrize(
    "query", ["last=x", "last=-1", "last=1e9", "last=" + "9" * 400, "last=%00", "tag=%ff&last=2"]
)
def test_nonsense_is_answered_from_the_beginning_or_with_what_is_new(server, query):
    status, _, body = asked(server.url, f"/api/update?{query}")
    assert status == 200
    assert json.loads(body)["since"] in (0, 2)


@pytest.mark.parametrize("number", ["", "x", "0", "99", "-1", "1.5", "9" * 400, "²"])
def test_a_round_without_a_map_is_not_found(server, number):
    assert asked(server.url, f"/api/map?round={number.encode().hex() if number == '²' else number}")[0] == 404


def test_the_map_of_a_round(server):
    found = json.loads(asked(server.url, "/api/map?round=2")[2])
    assert found["round"] == 2
    assert len(found["xy"]) == 2 * len(found["clients"]) == 20


def test_a_damaged_ledger_is_said_to_be_unreadable(server, ledger):
    for path in ledger.parent.glob("federation.db*"):
        path.unlink()
    ledger.write_bytes(b"not a database" * 1000)
    status, _, body = asked(server.url, "/api/update")
    assert status == 503
    assert b"The ledger cannot be read" in body
    assert asked(server.url, "/metrics")[0] == 503
    assert asked(server.url)[0] == 200  # the page, which says so and tries again


def test_a_ledger_that_is_replaced_is_read_anew(server, ledger):
    first = json.loads(asked(server.url, "/api/update")[2])
    for path in ledger.parent.glob("federation.*"):
        path.unlink()
    Federation(ledger, attackers=(), honest=("xena", "yves", "zack", "zoe")).round(1)
    again = json.loads(asked(server.url, f"/api/update?tag={first['tag']}&last={first['last']}")[2])
    assert again["clients"]["name"] == ["xena", "yves", "zack", "zoe"]


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x00" * 20,
        b"GET /" + b"a" * 70_000,
    ],
)
def test_what_is_no_request_does_not_stop_the_server(server, sent):
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass  # it was not read to its end
    assert asked(server.url)[0] == 200


def test_too_many_at_a_time_are_turned_away_and_later_answered(server):
    where = urlsplit(server.url)
    silent = [socket.create_connection((where.hostname, where.port)) for _ in range(MOST_REQUESTS)]
    with socket.create_connection((where.hostname, where.port)) as late:
        late.settimeout(10)
        assert late.recv(10) == b""
    for connection in silent:
        connection.close()
    for _ in range(100):
        try:
            assert asked(server.url)[0] == 200
            break
        except (ConnectionError, OSError):  # not yet: the threads have to see that the others left
            continue
    else:
        pytest.fail("the server answers nobody any more")


def test_the_ledger_keeps_its_rights(server, ledger):
    asked(server.url)
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
