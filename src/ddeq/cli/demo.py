"""``ddeq demo``: the library in a browser."""

from __future__ import annotations

import argparse

from ddeq.cli.errors import UsageError

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "demo",
        help="cut and complete scans and digits in the browser",
        description=(
            "Opens a page on which you pick a scanned object or a digit, draw one, or bring a "
            "cloud file, take a part of it away with a brush, a ball or a camera, and watch free "
            "particles flow to where points are missing. Everything runs on this machine and "
            "nothing leaves it. Ctrl-C ends it."
        ),
        epilog="Example: ddeq demo --port 9000",
    )
    parser.add_argument("--port", type=int, default=8765, help="8765 by default; 0: any free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: local)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--seed", type=int, default=0, help="of the particles and the samples")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command until it is interrupted."""
    from ddeq.demo.engine import Engine
    from ddeq.demo.server import DemoServer

    if not 0 <= args.port <= 65535:
        raise UsageError(f"--port must lie in 0..65535, got {args.port}")
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, got {args.seed}")
    try:
        server = DemoServer(args.host, args.port, Engine(args.seed))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot listen at {args.host}:{args.port}: {reason}; try --port 0 for any free port"
        ) from error
    with server:
        print(f"ddeq demo: {server.url}  (Ctrl-C ends it)", flush=True)
        if args.host not in ("127.0.0.1", "localhost"):
            print("everyone who can reach this machine can use it", flush=True)
        if not args.no_browser:
            _open(server.url)
        server.serve_forever()
    return 0


def _open(url: str) -> None:
    """Opens the page; without a browser the printed address is enough."""
    import webbrowser

    try:
        webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return
