# SPDX-License-Identifier: Apache-2.0
"""Slow because the threads of a pool wait for an HTTP service that takes 100 ms."""
import concurrent.futures
import http.server
import os
import signal
import socketserver
import time
import urllib.request


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.1)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"42")

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Slow)
parent = os.getpid()
if os.fork() == 0:
    signal.signal(signal.SIGALRM, lambda *_: os.getppid() == parent or os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    server.serve_forever()


def fetch_price(article):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{article}", timeout=5) as answer:
        return int(answer.read())


print("ready", flush=True)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    while True:
        list(pool.map(fetch_price, range(20)))
