"""A TCP proxy with the faults of a network: the eight of Toxiproxy, in asyncio."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_BYTES: Final = 65_536


@dataclass(frozen=True)
class NetworkFault:
    """What happens to the bytes in one direction.

    latency_s: delay of every piece of data.
    down: connections are refused.
    bytes_per_s: bandwidth.
    slow_close_s: delay between the end of the data and the end of the connection.
    silent_after: number of bytes after which nothing more is passed on; the connection stays open.
    reset_after: number of bytes after which the connection is reset.
    slice_bytes: size of the pieces that are passed on one by one.
    end_after: number of bytes after which the connection is closed.
    """

    latency_s: float = 0.0
    down: bool = False
    bytes_per_s: float = 0.0
    slow_close_s: float = 0.0
    silent_after: int | None = None
    reset_after: int | None = None
    slice_bytes: int = BLOCK_BYTES
    end_after: int | None = None


NO_FAULT: Final = NetworkFault()


class FaultyNetwork:
    """A proxy in front of a server. to_server, to_client: the fault in each direction."""

    def __init__(
        self, host: str, port: int, *, to_server: NetworkFault = NO_FAULT, to_client: NetworkFault = NO_FAULT
    ) -> None:
        self.address = ("", 0)
        self._upstream = (host, port)
        self._to_server, self._to_client = to_server, to_client
        self._started = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"http://{self.address[0]}:{self.address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join()

    async def _run(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = loop.create_task(self._connect(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.address = server.sockets[0].getsockname()
        if self._to_server.down:
            server.close()
        self._started.set()
        await stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, sender = await asyncio.open_connection(*self._upstream)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(_pump(reader, sender, self._to_server, (writer, sender)))
                pumps.create_task(_pump(upstream, writer, self._to_client, (writer, sender)))
        except* (ConnectionError, EOFError):
            pass
        finally:
            for end in (writer, sender):
                end.close()
                with suppress(ConnectionError):
                    await end.wait_closed()


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    fault: NetworkFault,
    ends: tuple[asyncio.StreamWriter, ...],
) -> None:
    """Pass data on with a fault, until the sender ends it."""
    passed = 0
    limits = [limit for limit in (fault.silent_after, fault.reset_after, fault.end_after) if limit is not None]
    while limits == [] or passed < limits[0]:
        size = min([fault.slice_bytes, BLOCK_BYTES, *(limit - passed for limit in limits)])
        data = await reader.read(size)
        if not data:
            break
        await asyncio.sleep(fault.latency_s + (len(data) / fault.bytes_per_s if fault.bytes_per_s else 0.0))
        writer.write(data)
        await writer.drain()
        passed += len(data)
    else:
        await _interrupt(fault, ends)
    await asyncio.sleep(fault.slow_close_s)
    if writer.can_write_eof():
        writer.write_eof()


async def _interrupt(fault: NetworkFault, ends: tuple[asyncio.StreamWriter, ...]) -> None:
    """Do what a fault does after its number of bytes."""
    if fault.silent_after is not None:
        await asyncio.Event().wait()
    if fault.reset_after is not None:
        for end in ends:
            end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.transport.abort()
    raise EOFError
