"""The one way a request for speech takes, whichever transport it came by."""
