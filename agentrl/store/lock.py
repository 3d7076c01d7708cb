"""One process at a time may write a run. The kernel ends the lock with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agentrl.core.failures import UserError

FILE = "run.lock"


class RunLock:
    """An exclusive lock on a run's folder, held until `release`. The file holds the process id of its holder.

    Raises:
        UserError: another process holds it; names that process.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / FILE
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 32, 0).decode().strip() or "unknown"
            self.release()
            raise UserError(f"{folder} is being trained by another process (pid {holder})") from error
        except OSError as error:
            self.release()
            raise UserError(f"{path} cannot be locked: {error.strerror}") from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others have it; idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
