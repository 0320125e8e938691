#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""debug_server.py endless|slow|wrong|redirect: a server of debug files that is not one; prints its port."""
import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        how = sys.argv[1]
        self.send_response(302 if how == "redirect" else 200)
        if how == "redirect":
            self.send_header("Location", "file:///etc/shadow")
        self.send_header("Content-Type", "application/octet-stream")
        self.end_headers()
        while how in ("endless", "slow"):
            self.wfile.write(bytes(1 << 20) if how == "endless" else b"x")
            time.sleep(0 if how == "endless" else 0.1)
        if how == "wrong":
            with open("/bin/true", "rb") as file:
                self.wfile.write(file.read())

    do_HEAD = do_GET


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
