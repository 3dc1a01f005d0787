"""The page refuses foreign sites, other names and missing tokens, and malformed messages cost nothing."""

import asyncio
import http.client
import struct
from urllib.parse import urlsplit

import pytest

from diffloom.interfaces import InputError
from diffloom_viewer.guard import Guard, check_address


class Headers(dict):
    def get_all(self, name):
        return [self[name]] if name in self else []


def fault(guard, path="/", **headers):
    return guard.find_fault(path, Headers(headers))


@pytest.mark.parametrize("name", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "localhost"])
def test_this_machine_is_served_with_the_token_alone(name):
    guard = Guard("127.0.0.1")
    assert fault(guard, f"/?token={guard.token}", Host=name) is None
    assert "token" in fault(guard, Host=name)
    assert "token" in fault(guard, "/?token=", Host=name)
    assert "token" in fault(guard, f"/?token={guard.token}x", Host=name)


@pytest.mark.parametrize("name", ["attacker.example:8080", "192.168.1.5:8080", "127.0.0.1.attacker.example", "", "["])
def test_a_name_pointed_at_this_machine_is_refused(name):
    guard = Guard("127.0.0.1")
    assert "Host" in fault(guard, f"/?token={guard.token}", Host=name)
    assert "Host" in fault(guard, f"/?token={guard.token}")


def test_an_address_of_the_network_is_served_where_the_network_is():
    guard = Guard("0.0.0.0")
    assert fault(guard, f"/?token={guard.token}", Host="192.168.1.5:8080") is None
    assert "Host" in fault(guard, f"/?token={guard.token}", Host="attacker.example:8080")


@pytest.mark.parametrize(
    "origin", ["http://attacker.example", "null", "http://127.0.0.1:9", "file://", "http://localhost:8080"]
)
def test_the_page_of_another_site_is_refused(origin):
    guard = Guard("127.0.0.1")
    asked = {"Host": "127.0.0.1:8080", "Origin": origin, "Upgrade": "websocket"}
    assert "Origin" in guard.find_fault(f"/?token={guard.token}", Headers(asked))
    asked.pop("Origin")
    assert "Origin" in guard.find_fault(f"/?token={guard.token}", Headers(asked))
    asked["Origin"] = "http://127.0.0.1:8080"
    assert guard.find_fault(f"/?token={guard.token}", Headers(asked)) is None


def test_the_cookie_stands_for_the_token():
    guard, asked = Guard("127.0.0.1"), Headers(Host="127.0.0.1:8080")
    cookie = guard.make_cookie(asked)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guard.find_fault("/", Headers(Host="127.0.0.1:8080", Cookie=cookie.split(";")[0])) is None
    assert "token" in guard.find_fault("/", Headers(Host="127.0.0.1:8081", Cookie=cookie.split(";")[0]))
    assert "token" in guard.find_fault("/", Headers(Host="127.0.0.1:8080", Cookie="\x01=;;==é"))


@pytest.mark.parametrize("host", ["300.1.1.1", "203.0.113.77", "no such host", "x" * 300])
def test_an_address_that_is_not_ours_is_refused(host):
    with pytest.raises(InputError, match="cannot serve at host"):
        check_address(host, 8080)


def test_a_port_out_of_range_is_refused():
    with pytest.raises(InputError, match="port 70000"):
        check_address("127.0.0.1", 70000)


@pytest.fixture
def window(playback):
    pytest.importorskip("viser", reason="viser is not installed")
    from diffloom_viewer import ViewerWindow

    opened = ViewerWindow(playback, port=18480, frames=11)
    yield opened
    opened.close()


def get(window, path, **headers):
    """Return status and headers of one request."""
    at = urlsplit(window.address)
    line = http.client.HTTPConnection(at.hostname, at.port, timeout=20)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    answer.read()
    return answer


def test_the_server_answers_its_own_page_alone(window):
    at = urlsplit(window.address)
    assert get(window, "/").status == 403
    assert get(window, "/index.html").status == 403
    assert get(window, f"/?{at.query}", Host="attacker.example").status == 403
    assert get(window, f"/?{at.query}", Origin="http://attacker.example").status == 403
    answer = get(window, f"/?{at.query}")
    assert answer.status == 200
    assert get(window, "/", Cookie=answer.headers["Set-Cookie"].split(";")[0]).status == 200


def connect(window, origin, messages=()):
    """Open the socket of the page, send messages, and return what came first."""
    import viser
    from websockets.asyncio.client import connect as open_socket

    at = urlsplit(window.address)

    async def talk():
        async with open_socket(
            f"ws://{at.netloc}/?{at.query}", origin=origin, subprotocols=[f"viser-v{viser.__version__}"], max_size=None
        ) as line:
            first = await line.recv()
            for message in messages:
                await line.send(message)
            await asyncio.sleep(0.5)
            return first

    return asyncio.run(talk())


def test_a_foreign_page_cannot_connect(window):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        connect(window, "http://attacker.example")
    with pytest.raises(InvalidStatus):
        connect(window, None)
    assert connect(window, f"http://{urlsplit(window.address).netloc}")


def test_malformed_messages_are_dropped_without_a_traceback(window, capfd):
    import msgspec

    slider = next(iter(window.knobs.values()))
    uuid, before = slider._impl.uuid, slider.value

    def message(**fields):
        return msgspec.msgpack.encode(fields)

    hostile = [
        "text", b"", b"\xff" * 9, struct.pack("<d", 1.0), message(type="NoSuch"), message(type=[]),
        message(type="Message"),
        message(type="GuiUpdateMessage"), message(type="GuiUpdateMessage", uuid=uuid, updates=5),
        message(type="GuiUpdateMessage", uuid=uuid, updates={"value": float("nan")}),
        message(type="GuiUpdateMessage", uuid=uuid, updates={"value": "abc"}),
        message(type="GuiUpdateMessage", uuid=uuid, updates={"update_cb": 5, "removed": True}),
        message(type="GuiUpdateMessage", uuid=window.slider._impl.uuid, updates={"value": 10**9}),
        message(type="GuiUpdateMessage", uuid=window.colouring._impl.uuid, updates={"value": "no such colour"}),
        message(type="ViewerCameraMessage", wxyz="x"), message(type="ShareUrlRequest"),
        message(type="ShareUrlDisconnect"),
    ]  # fmt: skip
    address = f"http://{urlsplit(window.address).netloc}"
    for one in hostile:
        connect(window, address, [one])
    assert slider.value == before
    assert window.server._share_tunnel is None
    assert slider._impl.removed is False
    wanted = float(slider.min) + 3 * float(slider.step)
    connect(window, address, [message(type="GuiUpdateMessage", uuid=uuid, updates={"value": wanted})])
    assert slider.value == pytest.approx(wanted)
    window.redraw()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert "rror" not in err


def test_malformed_requests_cost_no_traceback(window, capfd):
    import socket

    at = urlsplit(window.address)
    for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01" * 50, b"GET / HTTP/1.1\r\nHost" + b"x" * 90000, b""):
        with socket.create_connection((at.hostname, at.port), timeout=20) as line:
            line.sendall(raw)
    with socket.create_connection((at.hostname, at.port), timeout=20) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert b"403" in line.recv(4000)
    assert "Traceback" not in "".join(capfd.readouterr())
