"""Serve a GGUF file with llama.cpp's server: `llama_server.py FILE PORT`.

It runs in the environment of xllamacpp, with four slots of 4,096 tokens and one thread.
"""

from __future__ import annotations

import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.model_alias = {"tiny"}
parameters.n_ctx = 16384
parameters.n_parallel = 4
parameters.cpuparams.n_threads = 1  # more wait for one another, which is slow on a busy machine
parameters.cpuparams_batch.n_threads = 1
parameters.port = int(sys.argv[2])
server = xllamacpp.Server(parameters)
signal.pause()
