#!/usr/bin/python3
"""Writes the tiny Llama of this folder, in two Hugging Face layouts, and golden.json: an independent forward
pass of it in Python's own float64, without any library. Run it here; the bytes are always the same."""
import json, math, os, struct

HERE = os.path.dirname(os.path.abspath(__file__))
H, LAYERS, HEADS, KV, D, INNER, V, THETA, EPS, T = 16, 3, 4, 2, 4, 24, 40, 10000.0, 1e-5, 65
POSITIONS = (0, 1, 31, 64)  # those whose norms are kept

state = 12345
def uniform():
    """In [-0.5, 0.5), of a linear congruential generator."""
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return state / 2**31 - 0.5

def float32(x): return struct.unpack("<f", struct.pack("<f", x))[0]
def bf16_bits(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16  # round to nearest even
def matrix(rows, cols, scale): return [[float32(scale * uniform()) for _ in range(cols)] for _ in range(rows)]
def vector(size): return [float32(1 + 0.5 * uniform()) for _ in range(size)]

weights = {"model.embed_tokens.weight": matrix(V, H, 2), "model.norm.weight": vector(H)}
for layer in range(LAYERS):
    name = f"model.layers.{layer}."
    weights[name + "input_layernorm.weight"] = vector(H)
    weights[name + "post_attention_layernorm.weight"] = vector(H)
    weights[name + "self_attn.q_proj.weight"] = matrix(HEADS * D, H, 0.7)
    weights[name + "self_attn.k_proj.weight"] = matrix(KV * D, H, 0.7)
    weights[name + "self_attn.v_proj.weight"] = matrix(KV * D, H, 0.7)
    weights[name + "self_attn.o_proj.weight"] = matrix(H, HEADS * D, 0.7)
    weights[name + "mlp.gate_proj.weight"] = matrix(INNER, H, 0.7)
    weights[name + "mlp.up_proj.weight"] = matrix(INNER, H, 0.7)
    weights[name + "mlp.down_proj.weight"] = matrix(H, INNER, 0.7)

def times(m, x): return [sum(a * b for a, b in zip(row, x)) for row in m]
def normed(x, w):
    scale = 1 / math.sqrt(sum(a * a for a in x) / len(x) + EPS)
    return [a * scale * b for a, b in zip(x, w)]
def rotated(x, position):  # a head: its halves are the pairs
    out = x[:]
    for i in range(D // 2):
        angle = position / THETA ** (2 * i / D)
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + D // 2] = x[i] * c - x[i + D // 2] * s, x[i + D // 2] * c + x[i] * s
    return out
def heads(x): return [x[i:i + D] for i in range(0, len(x), D)]

ids = [(7 * t + t * t // 5 + 3) % V for t in range(T)]
hidden = [weights["model.embed_tokens.weight"][i][:] for i in ids]
norm = lambda x: math.sqrt(sum(a * a for a in x))
norms = [[norm(hidden[p]) for p in POSITIONS]]
for layer in range(LAYERS):
    w = lambda name: weights[f"model.layers.{layer}.{name}.weight"]
    inputs = [normed(x, w("input_layernorm")) for x in hidden]
    q = [[rotated(h, t) for h in heads(times(w("self_attn.q_proj"), x))] for t, x in enumerate(inputs)]
    k = [[rotated(h, t) for h in heads(times(w("self_attn.k_proj"), x))] for t, x in enumerate(inputs)]
    v = [heads(times(w("self_attn.v_proj"), x)) for x in inputs]
    for t in range(T):
        mixed = []
        for head in range(HEADS):
            shared = head // (HEADS // KV)
            scores = [sum(a * b for a, b in zip(q[t][head], k[s][shared])) / math.sqrt(D) for s in range(t + 1)]
            largest = max(scores)
            shares = [math.exp(score - largest) for score in scores]
            mixed += [sum(p * v[s][shared][i] for s, p in enumerate(shares)) / sum(shares) for i in range(D)]
        hidden[t] = [a + b for a, b in zip(hidden[t], times(w("self_attn.o_proj"), mixed))]
    for t in range(T):
        x = normed(hidden[t], w("post_attention_layernorm"))
        gate = [a / (1 + math.exp(-a)) for a in times(w("mlp.gate_proj"), x)]
        inner = [a * b for a, b in zip(gate, times(w("mlp.up_proj"), x))]
        hidden[t] = [a + b for a, b in zip(hidden[t], times(w("mlp.down_proj"), inner))]
    norms.append([norm(hidden[p]) for p in POSITIONS])
final = [normed(x, weights["model.norm.weight"]) for x in hidden]
logits = [times(weights["model.embed_tokens.weight"], x) for x in final]

digits = lambda x: float(f"{x:.9g}")
golden = {"note": "make.py, Python's float64", "ids": ids,
          "logits_argmax": [row.index(max(row)) for row in logits],
          "logits_first8": [[digits(x) for x in row[:8]] for row in logits[:8]],
          "hidden_l2": [[digits(x) for x in row] for row in norms],
          "final_norm_l2": [digits(norm(final[p])) for p in POSITIONS]}
config = {"architectures": ["LlamaForCausalLM"], "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2,
          "head_dim": D, "hidden_act": "silu", "hidden_size": H, "intermediate_size": INNER,
          "max_position_embeddings": 128, "mlp_bias": False, "model_type": "llama", "num_attention_heads": HEADS,
          "num_hidden_layers": LAYERS, "num_key_value_heads": KV, "rms_norm_eps": EPS, "rope_scaling": None,
          "rope_theta": THETA, "tie_word_embeddings": True, "torch_dtype": "float32", "use_cache": True,
          "vocab_size": V}

def safetensors(names, dtype):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in names:
        values = weights[name]
        shape = [len(values), len(values[0])] if isinstance(values[0], list) else [len(values)]
        flat = [x for row in values for x in row] if len(shape) == 2 else values
        begin = len(data)
        data += struct.pack(f"<{len(flat)}f", *flat) if dtype == "F32" else struct.pack(
            f"<{len(flat)}H", *map(bf16_bits, flat))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data

def write(name, content):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file: file.write(content if isinstance(content, bytes) else
                                              (json.dumps(content, indent=1) + "\n").encode())

names = sorted(weights)
first, second = names[:12], names[12:]
shards = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
write("golden.json", golden)
write("hf/config.json", config)
write("hf/model.safetensors", safetensors(names, "F32"))
write("hf-sharded-bf16/config.json", dict(config, torch_dtype="bfloat16"))
for shard, part in zip(shards, (first, second)): write("hf-sharded-bf16/" + shard, safetensors(part, "BF16"))
write("hf-sharded-bf16/model.safetensors.index.json",
      {"metadata": {}, "weight_map": {name: shards[name not in first] for name in names}})
