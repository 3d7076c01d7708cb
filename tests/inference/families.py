"""Small tokenizers with the rules of three families: their special tokens, their pre-tokenizer, their chat template.

The merges are learnt from a few lines, so that words and line ends do merge; the templates are written down from the
published rules (the texts that they insert, from the renderer that mirrors them).
"""

from functools import cache

from renderers import llama_3, qwen3
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from agentrl.inference.codecs import codec_of
from agentrl.inference.codecs.rendered import RendererCodec

CORPUS = [
    "What is the capital of Mali? The capital of Mali is Bamako.\n\nIt's there. Don't ask me 1234 times!\n",
    '{"name": "search", "arguments": {"query": "capital of Mali"}}\n{"name": "answer", "parameters": {"text": "x"}}\n',
    "<tool_call>\n</tool_call>\n<tool_response>\n</tool_response>\n<think>\n\n</think>\n\nsystem\nuser\nassistant\n",
    "one\n\ntwo\n\nthree\n\n",
] * 3
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
SPLITS = {
    "smollm2": [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ],
    "qwen3": [CONTRACTIONS + WORDS % r"\p{N}"],
    "llama3": [CONTRACTIONS + WORDS % r"\p{N}{1,3}"],
    "plain": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
}
SPECIAL = {
    "smollm2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"],
    "qwen3": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "llama3": [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|python_tag|>",
    ],
    "plain": ["<s>", "</s>"],
}
SPECIAL["llama30"] = [token for token in SPECIAL["llama3"] if token not in ("<|eom_id|>", "<|python_tag|>")]
SPLITS["llama30"] = SPLITS["llama3"]
# These are tokens, but of the ordinary kind.
ORDINARY = {
    "qwen3": ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"],
}
DEFAULT_SYSTEM = "You are small."
TEMPLATES = {
    "smollm2": (
        "{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system\n"
        + DEFAULT_SYSTEM
        + "<|im_end|>\n{% endif %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "qwen3": """
{%- set first = messages[0].content if messages[0].role == 'system' else none %}
{%- if tools %}
  {{- '<|im_start|>system\n' + (first + '\n\n' if first is not none else '') + HEADER }}
  {%- for tool in tools %}{{- '\n' + tool | tojson }}{%- endfor %}
  {{- FOOTER + '<|im_end|>\n' }}
{%- elif first is not none %}{{- '<|im_start|>system\n' + first + '<|im_end|>\n' }}{%- endif %}
{%- set ns = namespace(query=messages | length - 1, found=false) %}
{%- for m in messages | reverse %}
  {%- if not ns.found and m.role == 'user' %}
    {%- set ns.query = messages | length - 1 - loop.index0 %}{%- set ns.found = true %}
  {%- endif %}
{%- endfor %}
{%- for m in messages %}
  {%- if m.role == 'user' or m.role == 'system' and not loop.first %}
    {{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
  {%- elif m.role == 'assistant' %}
    {%- set thought = m.reasoning_content or '' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if loop.index0 > ns.query and (loop.last or thought) %}
      {{- '<think>\n' + thought + '\n</think>\n\n' }}
    {%- endif %}
    {{- m.content }}
    {%- for call in m.tool_calls or [] %}
      {{- '\n' if m.content or not loop.first else '' }}
      {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
      {{- call.function.arguments | tojson + '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif m.role == 'tool' %}
    {{- '<|im_start|>user' if messages[loop.index0 - 1].role != 'tool' else '' }}
    {{- '\n<tool_response>\n' + m.content + '\n</tool_response>' }}
    {{- '<|im_end|>\n' if loop.last or messages[loop.index0 + 1].role != 'tool' else '' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|im_start|>assistant\n' }}
  {%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}""".replace("HEADER", repr(qwen3._TOOLS_HEADER)).replace("FOOTER", repr(qwen3._TOOLS_FOOTER)),
    "llama3": """
{%- set first = messages[0].content | trim if messages[0].role == 'system' else '' %}
{%- set rest = messages[1:] if messages[0].role == 'system' else messages %}
{{- '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n' }}
{{- 'Environment: ipython\n' if tools else '' }}
{{- 'Cutting Knowledge Date: December 2023\nToday Date: ' + (date_string or strftime_now('%d %b %Y')) + '\n\n' }}
{{- first + '<|eot_id|>' }}
{%- for m in rest %}
  {%- if m.tool_calls %}
    {%- if m.tool_calls | length > 1 %}{{ raise_exception('one call at once') }}{%- endif %}
    {%- set call = m.tool_calls[0].function %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "' + call.name + '", "parameters": ' }}
    {{- call.arguments | tojson + '}' }}
  {%- elif m.role == 'tool' %}
    {{- '<|start_header_id|>ipython<|end_header_id|>\n\n' + m.content | tojson }}
  {%- else %}
    {{- '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}
    {%- if loop.first and tools %}
      {{- INTRO }}{%- for tool in tools %}{{- tool | tojson(indent=4) + '\n\n' }}{%- endfor %}
    {%- endif %}
    {{- m.content | trim }}
  {%- endif %}
  {{- '<|eot_id|>' }}
{%- endfor %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' if add_generation_prompt else '' }}""".replace(
        "INTRO", repr(llama_3._TOOLS_IN_USER_INTRO)
    ),
    # The first Llama-3 knows neither tools nor a date, nor a token that ends a message within a turn.
    "llama30": (
        "{% for m in messages %}{{ '<|begin_of_text|>' if loop.first else '' }}"
        "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
    ),
    "plain": (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    ),
}
FAMILIES = ("smollm2", "qwen3", "llama3")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} something.",
            "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]},
        },
    }
    for name, key in (("search", "query"), ("answer", "text"))
]


def tokenizer_of(family: str, *, template: bool = True) -> PreTrainedTokenizerFast:
    """A fresh tokenizer of a family."""
    raw = Tokenizer(models.BPE())
    if family == "qwen3":
        raw.normalizer = normalizers.NFC()
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [
            step
            for rule in SPLITS[family]
            for step in (
                [rule]
                if not isinstance(rule, str)
                else [
                    pre_tokenizers.Split(Regex(rule), "isolated"),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            )
        ]
    )
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    raw.train_from_iterator(CORPUS, trainer)
    raw.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL[family]])
    raw.add_tokens([AddedToken(token, normalized=False) for token in ORDINARY.get(family, ())])
    end = {"llama3": "<|eot_id|>", "llama30": "<|eot_id|>", "plain": "</s>"}.get(family, "<|im_end|>")
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token=end, chat_template=TEMPLATES[family] if template else None
    )


@cache
def codec(family: str) -> RendererCodec:
    """The codec that `codec_of` finds for a family."""
    found = codec_of(tokenizer_of(family))
    assert isinstance(found, RendererCodec)
    return found


def ids(family: str, *pieces: str) -> tuple[int, ...]:
    """Token ids of pieces: a special token alone, or a text that is tokenised in one go and holds none."""
    tokenizer = codec(family).tokenizer
    out: list[int] = []
    for piece in pieces:
        added = tokenizer.get_added_vocab()
        if piece in added:
            out.append(added[piece])
        else:
            assert not any(token in piece for token in added), piece
            out += tokenizer.encode(piece, add_special_tokens=False)
    return tuple(out)
