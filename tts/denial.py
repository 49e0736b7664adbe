"""ASGI's extension "WebSocket Denial Response", of which Daphne knows nothing.

It answers a handshake with an HTTP response.
"""

DENIAL = "websocket.http.response"
