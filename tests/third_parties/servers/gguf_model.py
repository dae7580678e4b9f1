"""Convert the embedded checkpoint to a GGUF file in float32: `gguf_model.py CHECKPOINT FILE`.

llama.cpp lacks the pre-tokenizer of this checkpoint; that of Qwen 2 splits texts a little differently, which changes
the model's answers and no rule of the API.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import gguf
import numpy as np

checkpoint = Path(sys.argv[1])
config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
tokenizer = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
blocks = config["num_hidden_layers"]

writer = gguf.GGUFWriter(sys.argv[2], "qwen3")
writer.add_name("tiny")
writer.add_context_length(config["max_position_embeddings"])
writer.add_embedding_length(config["hidden_size"])
writer.add_block_count(blocks)
writer.add_feed_forward_length(config["intermediate_size"])
writer.add_head_count(config["num_attention_heads"])
writer.add_head_count_kv(config["num_key_value_heads"])
writer.add_key_length(config["head_dim"])
writer.add_value_length(config["head_dim"])
writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
writer.add_vocab_size(config["vocab_size"])
writer.add_file_type(gguf.LlamaFileType.ALL_F32)

tokens = {index: token for token, index in tokenizer["model"]["vocab"].items()}
types = dict.fromkeys(tokens, gguf.TokenType.NORMAL)
for added in tokenizer["added_tokens"]:
    tokens[added["id"]] = added["content"]
    types[added["id"]] = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([tokens[index] for index in range(config["vocab_size"])])
writer.add_token_types([types[index] for index in range(config["vocab_size"])])
writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]])
writer.add_eos_token_id(config["eos_token_id"])
writer.add_pad_token_id(config["pad_token_id"])
writer.add_add_bos_token(False)
writer.add_chat_template((checkpoint / "chat_template.jinja").read_text(encoding="utf-8"))

names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, blocks)
content = (checkpoint / "model.safetensors").read_bytes()
(length,) = struct.unpack("<Q", content[:8])
for name, row in json.loads(content[8 : 8 + length]).items():
    if name != "__metadata__":
        first, last = (8 + length + offset for offset in row["data_offsets"])
        # bfloat16 is the upper half of float32; numpy has no such type.
        values = (np.frombuffer(content[first:last], np.uint16).astype(np.uint32) << 16).view(np.float32)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), values.reshape(row["shape"]))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
