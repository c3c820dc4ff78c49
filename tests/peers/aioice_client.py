"""The aioice peer of the interop tests.

`echo` allocates over udp, tcp or tls and echoes messages of several sizes through a peer. `ice` lets two
ICE agents that may use relayed candidates only find each other through the server. Prints `ok`, or fails.
"""

import argparse
import asyncio
import ssl

import aioice
from aioice import turn

PATIENCE = 15


class Inbox(asyncio.DatagramProtocol):
    def __init__(self):
        self.messages = asyncio.Queue()

    def datagram_received(self, data, addr):
        self.messages.put_nowait((data, addr))


def tls_context(args):
    if args.transport != "tls":
        return None
    return ssl.create_default_context(cafile=args.ca)


async def echo(args):
    transport, inbox = await turn.create_turn_endpoint(
        Inbox,
        server_addr=(args.host, args.port),
        username=args.user,
        password=args.password,
        ssl=tls_context(args),
        transport="udp" if args.transport == "udp" else "tcp",
    )
    print("relayed", transport.get_extra_info("sockname"))
    peer = (args.peer_host, args.peer_port)
    for size in (1, 2, 3, 4, 99, 500, 1200, 1472):
        sent = bytes((size + i) % 256 for i in range(size))
        transport.sendto(sent, peer)
        data, addr = await asyncio.wait_for(inbox.messages.get(), PATIENCE)
        assert addr == peer, f"came from {addr}"
        assert data == sent, f"{size} bytes came back as {len(data)}, or changed"
    transport.close()


async def ice(args):
    def agent(controlling):
        return aioice.Connection(
            ice_controlling=controlling,
            turn_server=(args.host, args.port),
            turn_username=args.user,
            turn_password=args.password,
            turn_transport="udp" if args.transport == "udp" else "tcp",
            turn_ssl=tls_context(args) or False,
            use_ipv6=False,
            transport_policy=aioice.TransportPolicy.RELAY,
        )

    a, b = agent(True), agent(False)
    for here, there in ((a, b), (b, a)):
        await here.gather_candidates()
        kinds = {candidate.type for candidate in here.local_candidates}
        assert kinds == {"relay"}, f"candidates are {kinds}"
        for candidate in here.local_candidates:
            await there.add_remote_candidate(candidate)
        await there.add_remote_candidate(None)
        there.remote_username = here.local_username
        there.remote_password = here.local_password
    await asyncio.wait_for(asyncio.gather(a.connect(), b.connect()), 2 * PATIENCE)
    for number in range(20):
        await a.send(b"ping %d" % number)
        assert await asyncio.wait_for(b.recv(), PATIENCE) == b"ping %d" % number
        await b.send(b"pong %d" % number)
        assert await asyncio.wait_for(a.recv(), PATIENCE) == b"pong %d" % number
    await a.close()
    await b.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["echo", "ice"])
    parser.add_argument("--transport", choices=["udp", "tcp", "tls"], required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--peer-host")
    parser.add_argument("--peer-port", type=int)
    parser.add_argument("--ca")
    args = parser.parse_args()
    asyncio.run(asyncio.wait_for(echo(args) if args.what == "echo" else ice(args), 60))
    print("ok")


main()
