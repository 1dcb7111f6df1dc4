"""Binds this process to the place of its rank: CPUs and memory next to its GPU.

For code that cannot be started by ``angio run``. Call ``angio.bind()`` before torch is imported: threads that
exist already keep their memory policy, and touched pages stay where they are.

    import angio
    angio.bind()
    import torch
    ...
    loader = torch.utils.data.DataLoader(data, num_workers=4, worker_init_fn=angio.worker_init)

Fails open: whatever is wrong, a warning says why and the program runs on unbound. Needs libangio.so.0, which is
searched in $ANGIO_LIBRARY, beside this file, in ../lib and ../../../lib of it, and where the system looks.
"""

import ctypes
import os
import pathlib
import warnings

__all__ = ["Binding", "bind", "worker_init"]

_RESULTS = {0: "bound", 1: "partly", 2: "unbound"}
_NAME = "libangio.so.0"


class Binding:
    """What became of it: ``state`` is "bound", "partly" or "unbound", ``message`` says it in a sentence."""

    def __init__(self, state, message):
        self.state = state
        self.message = message

    def __bool__(self):
        return self.state == "bound"

    def __repr__(self):
        return f"<angio.Binding {self.state}: {self.message}>"


def _candidates():
    given = os.environ.get("ANGIO_LIBRARY")
    if given:
        return [given]
    here = pathlib.Path(__file__).resolve().parent
    folders = [here, here.parent / "lib", here.parents[2] / "lib" if len(here.parents) > 2 else here]
    return [str(folder / _NAME) for folder in folders if (folder / _NAME).exists()] + [_NAME]


def _load():
    problem = None
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
            library.angio_bind.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
            library.angio_bind.restype = ctypes.c_int
            return library
        except (OSError, AttributeError) as error:
            problem = error
    raise OSError(f"{_NAME} cannot be loaded: {problem}; set ANGIO_LIBRARY to its path")


def _bind(local_rank, local_size):
    message = ctypes.create_string_buffer(2048)
    result = _load().angio_bind(
        -1 if local_rank is None else int(local_rank), -1 if local_size is None else int(local_size), message, len(message)
    )
    return Binding(_RESULTS.get(result, "unbound"), message.value.decode(errors="replace"))


def bind(local_rank=None, local_size=None):
    """Binds this process. Without arguments the rank comes from LOCAL_RANK, SLURM_LOCALID and the like.

    Returns a Binding, true when CPUs and memory are as planned. Warns instead of raising."""
    try:
        binding = _bind(local_rank, local_size)
    except (OSError, ValueError, TypeError) as error:
        binding = Binding("unbound", str(error))
    if not binding:
        warnings.warn(f"angio: {binding.message}", RuntimeWarning, stacklevel=2)
    return binding


def worker_init(worker_id):
    """worker_init_fn of a DataLoader. Workers inherit the mask of a process that was bound before it made them; this
    serves those that were not: spawned by a server that started earlier, or in a parent that never called bind."""
    del worker_id  # every worker of a rank shares the rank's CPUs
    bind()
