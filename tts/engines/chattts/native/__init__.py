"""The decoder in C++, compiled for the machine that it runs on."""
