"""Asking a platform over HTTP whether it can speak."""

import http.client
from contextlib import closing

ANSWER_SECONDS = 5.0


def readiness_ask(host: str, port: int, *, name: str = "") -> tuple[int, str]:
    """The status and the body of `/readyz`; status 0 and the reason while nobody answers whole.

    `name` is the Host that is asked for, where that is not the address.
    """
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    with closing(connection):
        try:
            connection.request("GET", "/readyz", headers={"Host": name} if name else {})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            # An answer may also be cut off: a web process that is just starting.
            return 0, str(error)
