"""What the page is told of a failure: nothing that names a file or a command of this machine. The log has it all."""

from __future__ import annotations

from qizero.games.catalog import IllegalActionError
from qizero.players.gomocup_engine import EngineError
from qizero.server.session import CommandRefusedError

SEE_LOG = "the server's log says why"


def public_reason(error: BaseException) -> str:
    """Why something failed, for people who may not know this machine. Errors of players and nets name files; only those
    that are known to name none are repeated."""
    if isinstance(error, EngineError):
        return error.public
    if isinstance(error, CommandRefusedError | IllegalActionError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return SEE_LOG
