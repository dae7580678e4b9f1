"""llama.cpp for the benchmark of large models; it runs in an environment with xllamacpp and gguf, and numpy.

llama_peer.py convert CHECKPOINT FILE: converts a Qwen3 checkpoint in bfloat16, without changing a weight.
llama_peer.py serve FILE PORT SLOTS THREADS: serves the file.
"""

from __future__ import annotations

import json
import signal
import struct
import sys
from pathlib import Path
from typing import Any

POSITIONS = 4096  # of each slot


def convert(checkpoint: Path, file: str) -> None:
    """Write a GGUF file."""
    import gguf  # type: ignore[import-not-found]

    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    writer = gguf.GGUFWriter(file, "qwen3")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    _add_tokenizer(writer, checkpoint, config["vocab_size"])
    _add_weights(writer, checkpoint / "model.safetensors", config["num_hidden_layers"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, checkpoint: Path, size: int) -> None:
    import gguf

    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = {index: f"[unused{index}]" for index in range(size)}
    types = dict.fromkeys(tokens, gguf.TokenType.UNUSED)
    for token, index in tokenizer["model"]["vocab"].items():
        tokens[index], types[index] = token, gguf.TokenType.NORMAL
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        types[added["id"]] = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
    ends = [index for index, token in tokens.items() if token == "<|im_end|>"]  # noqa: S105 - a token of the model
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([tokens[index] for index in range(size)])
    writer.add_token_types([types[index] for index in range(size)])
    pairs = tokenizer["model"]["merges"]
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in pairs])
    writer.add_eos_token_id(ends[0])
    writer.add_add_bos_token(False)
    writer.add_chat_template((checkpoint / "chat_template.jinja").read_text(encoding="utf-8"))


def _add_weights(writer: Any, file: Path, blocks: int) -> None:
    import gguf
    import numpy as np

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, blocks)
    content = np.memmap(file, np.uint8, "r")
    (length,) = struct.unpack("<Q", content[:8].tobytes())
    for name, row in json.loads(content[8 : 8 + length].tobytes()).items():
        if name == "__metadata__":
            continue
        first, last = (8 + length + offset for offset in row["data_offsets"])
        target = names.get_name(name, (".weight", ".bias"))
        if len(row["shape"]) == 1:  # bfloat16 is the upper half of float32, which llama.cpp requires for vectors
            upper = content[first:last].view(np.uint16).astype(np.uint32)
            writer.add_tensor(target, (upper << 16).view(np.float32))
        else:
            values = content[first:last].reshape(row["shape"][0], -1)
            writer.add_tensor(target, values, raw_dtype=gguf.GGMLQuantizationType.BF16)


def serve(file: str, port: int, slots: int, threads: int) -> None:
    """Serve the file until the process is ended."""
    import xllamacpp  # type: ignore[import-not-found]

    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.n_ctx = POSITIONS * slots
    parameters.n_parallel = slots
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.port = port
    server = xllamacpp.Server(parameters)
    signal.pause()
    del server


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(Path(sys.argv[2]), sys.argv[3])
    else:
        serve(sys.argv[2], *map(int, sys.argv[3:]))
