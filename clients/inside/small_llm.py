"""A language model of six layers through openvino-genai: `small_llm.py DEVICE`.

No model is fetched: it is made here, with weights from a seeded generator, in the form in which language models are
exported for OpenVINO (a cache of keys and values in variables, selected by `beam_idx`), with a tokenizer of 96 single
characters. What greedy decoding must produce is computed with numpy, and prompts are taken for which the best token
leads clearly at each step, so that half precision decides alike.

The NPU plugin cuts language models into a block for all layers alike and what remains. It fails to with fewer than five
layers, and refuses a part that follows from no input, as a mask does that is made of lengths alone; it does not ask the
driver before. So there are six layers, and the mask is made of inputs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import cases
import numpy as np
import openvino as ov
import openvino_genai
from openvino import opset13 as op
from openvino.op.util import Variable, VariableInfo

VOCABULARY = [chr(code) for code in range(32, 127)] + ["~end~"]
END = len(VOCABULARY) - 1
WIDTH, HEADS, LAYERS, LONGEST = 64, 4, 6, 256
SIZE = WIDTH // HEADS
NEW = 12
PROMPTS = 24
CLEARLY = 0.8
FOR_NPU = {"MAX_PROMPT_LEN": 64, "MIN_RESPONSE_LEN": 16}


def weights() -> dict[str, Any]:
    made = np.random.default_rng(20)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> Any:
        return (made.standard_normal((rows, columns)) * scale / np.sqrt(rows)).astype(np.float32)

    found: dict[str, Any] = {
        "tokens": made.standard_normal((len(VOCABULARY), WIDTH)).astype(np.float32),
        "places": made.standard_normal((LONGEST, WIDTH)).astype(np.float32) * 0.3,
        "head": matrix(WIDTH, len(VOCABULARY), 6.0),
    }
    for layer in range(LAYERS):
        found |= {f"{layer}.{name}": matrix(WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        found |= {f"{layer}.up": matrix(WIDTH, 2 * WIDTH), f"{layer}.down": matrix(2 * WIDTH, WIDTH)}
    return found


def normal(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def logits(w: dict[str, Any], tokens: list[int]) -> Any:
    """Of the last token, by numpy."""
    count = len(tokens)
    x = w["tokens"][tokens] + w["places"][:count]
    for layer in range(LAYERS):
        y = normal(x)
        q, k, v = ((y @ w[f"{layer}.{n}"]).reshape(count, HEADS, SIZE).transpose(1, 0, 2) for n in "qkv")
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(SIZE) + np.triu(np.full((count, count), -1e9), 1)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        y = (shares / shares.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(count, WIDTH)
        x = x + y @ w[f"{layer}.o"]
        x = x + np.maximum(normal(x) @ w[f"{layer}.up"], 0) @ w[f"{layer}.down"]
    return (normal(x) @ w["head"])[-1]


def greedy(w: dict[str, Any], tokens: list[int]) -> list[int] | None:
    """The generated tokens; None if the best token is not clearly ahead."""
    found = list(tokens)
    for _ in range(NEW):
        scores = logits(w, found)
        second, first = np.sort(scores)[-2:]
        # The end of a text is no part of what is said, so a text that ends early proves less.
        if scores.argmax() == END or first - second < CLEARLY:
            return None
        found.append(int(scores.argmax()))
    return found[len(tokens) :]


def model(w: dict[str, Any]) -> ov.Model:
    ids, mask, places = (
        op.parameter([-1, -1], np.int64, name=name) for name in ("input_ids", "attention_mask", "position_ids")
    )
    beam = op.parameter([-1], np.int32, name="beam_idx")
    for each in (ids, mask, places, beam):
        each.output(0).set_names({each.friendly_name})
    batch = op.gather(op.shape_of(ids), [0], 0)
    x = op.add(op.gather(op.constant(w["tokens"]), ids, 0), op.gather(op.constant(w["places"]), places, 0))
    # Causal attention within the mask: a token attends to itself and earlier ones, by the positions in the inputs.
    behind = op.subtract(op.cumsum(mask, np.int64(1)), np.int64(1))
    seen = op.less_equal(op.unsqueeze(behind, [1, 2]), op.unsqueeze(places, [1, 3]))
    seen = op.logical_and(seen, op.unsqueeze(op.not_equal(mask, np.int64(0)), [1, 2]))
    hidden = op.select(seen, np.float32(0), np.float32(-65504))
    sinks = []

    def normalized(value: Any) -> Any:
        return op.mvn(value, [-1], True, 1e-5, "inside_sqrt")

    def product(value: Any, name: str) -> Any:
        return op.matmul(value, op.constant(w[name]), False, False)

    def heads(value: Any) -> Any:
        return op.transpose(op.reshape(value, [0, 0, HEADS, SIZE], special_zero=True), [0, 2, 1, 3])

    def cached(value: Any, layer: int, kind: str) -> Any:
        info = VariableInfo()
        info.data_shape = ov.PartialShape([-1, HEADS, -1, SIZE])
        info.data_type = ov.Type.f32
        info.variable_id = f"past_key_values.{layer}.{kind}present.{layer}.{kind}"
        variable = Variable(info)
        none = op.broadcast(np.float32(0), op.concat([batch, [HEADS], [0], [SIZE]], 0))
        past = op.gather(op.read_value(none, variable), beam, 0)
        whole = op.concat([past, value], 2)
        sinks.append(op.assign(whole, variable))
        return whole

    for layer in range(LAYERS):
        y = normalized(x)
        q, k, v = (heads(product(y, f"{layer}.{name}")) for name in "qkv")
        k, v = cached(k, layer, "key"), cached(v, layer, "value")
        y = op.scaled_dot_product_attention(q, k, v, hidden)
        y = op.reshape(op.transpose(y, [0, 2, 1, 3]), [0, 0, WIDTH], special_zero=True)
        x = op.add(x, product(y, f"{layer}.o"))
        x = op.add(x, product(op.relu(product(normalized(x), f"{layer}.up")), f"{layer}.down"))
    out = op.result(product(normalized(x), "head"))
    out.output(0).set_names({"logits"})
    return ov.Model([out], sinks, [ids, mask, places, beam], "small_llm")


def tokenizers() -> tuple[ov.Model, ov.Model]:
    from openvino_tokenizers import tokenizer_pipeline as steps
    from openvino_tokenizers import utils

    line = steps.TokenizerPipeline(vocab=VOCABULARY, skip_tokens=[END])
    line.add_steps(
        [
            steps.SpecialTokensSplit([steps.SpecialToken(VOCABULARY[END])]),
            steps.TrieTokenizerStep(VOCABULARY, list(range(len(VOCABULARY)))),
            steps.CombineSegmentsStep([steps.Sequence()]),
            steps.PaddingStep(token=VOCABULARY[END], _token_id=END, pad_right=False),
            steps.VocabDecoderStep(vocab=VOCABULARY, skip_tokens=[END]),
            steps.FuseStep(),
        ]
    )
    encoding, decoding = line.get_tokenizer_ov_subgraph(), line.get_detokenizer_ov_subgraph()
    utils.change_outputs_type(encoding, ov.Type.i64)
    utils.change_inputs_type(decoding, ov.Type.i64)
    return encoding, decoding


def made(folder: Path, w: dict[str, Any]) -> Path:
    """The folder of a model as exporters write it."""
    ov.save_model(model(w), folder / "openvino_model.xml", compress_to_fp16=False)
    tokenizer, detokenizer = tokenizers()
    ov.save_model(tokenizer, folder / "openvino_tokenizer.xml")
    ov.save_model(detokenizer, folder / "openvino_detokenizer.xml")
    shape = {
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "num_hidden_layers": LAYERS,
    }
    config = {"model_type": "gpt2", "vocab_size": len(VOCABULARY), "eos_token_id": END, "pad_token_id": END, **shape}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": END, "pad_token_id": END}))
    return folder


def prompts(w: dict[str, Any]) -> dict[str, str]:
    """Texts, and what must follow each."""
    chosen = np.random.default_rng(5)
    found: dict[str, str] = {}
    while len(found) < PROMPTS:
        tokens = [int(each) for each in chosen.integers(0, END, chosen.integers(3, 40))]
        if following := greedy(w, tokens):
            found["".join(VOCABULARY[each] for each in tokens)] = "".join(VOCABULARY[each] for each in following)
    return found


def check(pipeline: Any, prompt: str, expected: str) -> None:
    settings = {"max_new_tokens": NEW, "do_sample": False, "apply_chat_template": False, "ignore_eos": True}
    said = str(pipeline.generate(prompt, **settings))
    assert said == expected, f"{said!r}, expected {expected!r}"


def main(device: str) -> None:
    w = weights()
    with tempfile.TemporaryDirectory() as folder:
        pipeline = openvino_genai.LLMPipeline(
            str(made(Path(folder), w)), device, **(FOR_NPU if device == "NPU" else {})
        )
        cases.run(
            {
                f"prompt {number}": partial(check, pipeline, *each)
                for number, each in enumerate(sorted(prompts(w).items()))
            }
        )


if __name__ == "__main__":
    main(sys.argv[1])
