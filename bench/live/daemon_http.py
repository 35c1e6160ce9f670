"""Asks a daemon over the socket of its store."""
import http.client
import os
import socket


class DaemonConnection(http.client.HTTPConnection):
    def __init__(self, store, timeout=30):
        super().__init__("weft", timeout=timeout)
        self._path = os.path.join(store, "sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
