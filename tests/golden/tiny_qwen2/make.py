#!/usr/bin/python3
"""Writes tiny models of Qwen2 (biases; a head of its own) and Qwen3 (norms of query and key heads; tied) as transformers
saves them, in three layouts each, and golden.json: transformers' forward pass in float64. Needs torch and transformers 4.57;
draftlab's tests read only what it wrote. Run it here; it writes ../tiny_qwen3 too."""
import json, os, torch
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
T, POSITIONS = 65, (0, 1, 31, 64)
SIZES = dict(hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
             vocab_size=40, max_position_embeddings=128, rope_theta=10000.0, bos_token_id=1, eos_token_id=2,
             use_sliding_window=False, attention_dropout=0.0)
MODELS = {"tiny_qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=False, **SIZES)),
          "tiny_qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(tie_word_embeddings=True, head_dim=6, **SIZES))}

for name, make in MODELS.items():
    torch.manual_seed(7)
    model = make().eval()
    with torch.no_grad():  # small initial values would hide an error in a norm or a bias
        for key, weight in model.named_parameters():
            scale = 0.3 if "bias" in key else 0.5 if weight.dim() == 1 else 0.6
            weight.copy_(torch.randn_like(weight) * scale + (1.0 if weight.dim() == 1 and "norm" in key else 0.0))
    folder = os.path.join(HERE, "..", name)
    model.save_pretrained(os.path.join(folder, "hf"))
    model.to(torch.float16).save_pretrained(os.path.join(folder, "hf-f16"))
    exact = type(model).from_pretrained(os.path.join(folder, "hf"), dtype=torch.float32)
    exact.to(torch.bfloat16).save_pretrained(os.path.join(folder, "hf-sharded-bf16"), max_shard_size="8KB")
    exact = type(model).from_pretrained(os.path.join(folder, "hf"), dtype=torch.float64, attn_implementation="eager").eval()
    ids = [(7 * t + t * t // 5 + 3) % SIZES["vocab_size"] for t in range(T)]
    outputs = []  # behind the embedding and each layer, before the final norm
    exact.model.embed_tokens.register_forward_hook(lambda m, i, o: outputs.append(o[0]))
    for layer in exact.model.layers:
        layer.register_forward_hook(lambda m, i, o: outputs.append((o[0] if isinstance(o, tuple) else o)[0]))
    exact.model.norm.register_forward_hook(lambda m, i, o: outputs.append(o[0]))
    with torch.no_grad(): logits = exact(torch.tensor([ids])).logits[0]
    digits = lambda x: float(f"{float(x):.9g}")
    norms = [[digits(x[p].norm()) for p in POSITIONS] for x in outputs]
    golden = {"note": "make.py: transformers' float64", "ids": ids, "logits_argmax": logits.argmax(1).tolist(),
              "logits_first8": [[digits(x) for x in row[:8]] for row in logits[:8]], "hidden_l2": norms[:-1],
              "final_norm_l2": norms[-1]}
    with open(os.path.join(folder, "golden.json"), "w") as file: file.write(json.dumps(golden, indent=1) + "\n")
