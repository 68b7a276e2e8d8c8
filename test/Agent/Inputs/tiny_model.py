# usage: tiny_model.py FILE.gguf
# Makes a language model that a real server can load, too small to have learnt
# anything: its one layer has no weights, so the next token depends on the last
# token alone, and a table says on which. After the end of a prompt it asks for
# the tool `list_files`, always.

import sys

import gguf
import numpy

# What the model says, a token each, after the prompt's last byte, which the
# chat template makes the only vertical tab that can stand there.
PROMPT_END = "\v"
ANSWER = [
    "<tool_call>",
    "\n{\"name\": \"list_files\", ",
    '"arguments": {}}',
    "\n",
    "</tool_call>",
    "</s>",
]
TEMPLATE = (
    "{%- if tools %}<tools>\n"
    "{%- for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>\n"
    "For a call say <tool_call>\n"
    '{"name": <name>, "arguments": <arguments>}\n</tool_call>\n{% endif %}'
    "{%- for message in messages %}"
    "<|{{ message.role }}|>\n{{ message.content or '' }}"
    "{%- for call in message.tool_calls or [] %}"
    '<tool_call>\n{"name": "{{ call.function.name }}", '
    '"arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{%- endfor %}\n"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>\v{% endif %}"
)
WIDTH = 32
CONTEXT = 131072


def makeVocabulary():
    """Tokens and their types: what SentencePiece calls byte fallback."""
    tokens = ["<unk>", "<s>", "</s>"]
    types = [gguf.TokenType.UNKNOWN] + 2 * [gguf.TokenType.CONTROL]
    for byte in range(256):
        tokens.append("<0x%02X>" % byte)
        types.append(gguf.TokenType.BYTE)
    for text in ANSWER[:-1]:
        tokens.append(text)
        types.append(gguf.TokenType.USER_DEFINED)
    return tokens, types


def writeModel(path):
    tokens, types = makeVocabulary()
    chain = [3 + ord(PROMPT_END)] + [tokens.index(text) for text in ANSWER]
    embedding = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    embedding[:, WIDTH - 1] = 1  # tokens that say nothing
    output = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    output[chain[-1], WIDTH - 1] = 1  # after them the answer ends
    for place, (last, following) in enumerate(zip(chain, chain[1:])):
        embedding[last] = 0
        embedding[last, place] = 1
        output[following, place] = 100

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    ones = numpy.ones(WIDTH, numpy.float32)
    none = numpy.zeros((WIDTH, WIDTH), numpy.float32)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor("blk.0.%s.weight" % name, ones)
    for name in (
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_gate",
        "ffn_down",
        "ffn_up",
    ):
        writer.add_tensor("blk.0.%s.weight" % name, none)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    writeModel(sys.argv[1])
