"""Imports ONNX Runtime and OpenVINO with their telemetry off: nothing of qizero calls home.

Both packages report their use to their makers unless told otherwise. Everything of qizero that needs one of them calls
`import_runtime`.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

__all__ = ["import_runtime"]


def import_runtime(name: str) -> ModuleType:
    """The module `name` of onnxruntime or openvino. Writes nothing and changes no settings outside this process."""
    # ONNX Runtime reads this when it is loaded (Privacy.md in its package). Processes that this one starts inherit it.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # OpenVINO sends an event when it is imported, through this package. Where it cannot be imported, OpenVINO uses a
    # stub of its own. Its supported switch is a file in the home directory, which is the user's, not ours.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: importing it is an ImportError
    return importlib.import_module(name)
