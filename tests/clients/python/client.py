"""Drives one Python client against a gateway.

`client.py converse NAME` holds a conversation with one tool call. The environment has ORIGIN, API_KEY, MODEL and PROMPT. Prints
{"text", "tool_inputs", "usage": {"input", "output"}}.
`client.py fail NAME` sends requests that fail. The environment has ORIGIN and CASES, a JSON list of {"api_key", "model", "prompt", "more"},
where `more` has further fields. Prints a list of {"exception", "status"}.
`client.py parse NAME` asks for an answer in the form of a class. Prints its fields.
`client.py embed` makes vectors of two texts. Prints {"lengths"}.
`client.py background` begins responses in the background and polls, cancels and resumes them. Prints {"polled", "usage", "cancelled", "resumed"}.
"""

import asyncio
import json
import os
import sys
import time

ORIGIN = os.environ["ORIGIN"]
API_KEY = os.environ.get("API_KEY", "")
MODEL = os.environ.get("MODEL", "")
PROMPT = os.environ.get("PROMPT", "")
BASE = f"{ORIGIN}/v1"
REPLY = '{"sky":"clear","celsius":21}'
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Seen:
    """What the client's user sees."""

    def __init__(self) -> None:
        self.text = ""
        self.tool_inputs: list = []
        self.input = 0
        self.output = 0

    def count(self, read: int, written: int) -> None:
        self.input += read
        self.output += written

    def json(self) -> dict:
        usage = {"input": self.input, "output": self.output}
        return {"text": self.text, "tool_inputs": self.tool_inputs, "usage": usage}


def openai_chat() -> Seen:
    from openai import OpenAI

    seen = Seen()
    client = OpenAI(base_url=BASE, api_key=API_KEY)
    function = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA, "strict": True}
    messages: list = [{"role": "user", "content": PROMPT}]
    while True:
        with client.chat.completions.stream(
            model=MODEL,
            messages=messages,
            tools=[{"type": "function", "function": function}],
            stream_options={"include_usage": True},
        ) as stream:
            answer = stream.get_final_completion()
        seen.count(answer.usage.prompt_tokens, answer.usage.completion_tokens)
        message = answer.choices[0].message
        seen.text = message.content or ""
        if not message.tool_calls:
            return seen
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls:
            seen.tool_inputs.append(json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": REPLY})


def openai_responses() -> Seen:
    from openai import OpenAI

    seen = Seen()
    client = OpenAI(base_url=BASE, api_key=API_KEY)
    tools = [
        {"type": "function", "name": "get_weather", "description": "Weather", "parameters": SCHEMA, "strict": True}
    ]
    items: list = [{"role": "user", "content": PROMPT}]
    while True:
        with client.responses.stream(model=MODEL, input=items, tools=tools, store=False) as stream:
            answer = stream.get_final_response()
        seen.count(answer.usage.input_tokens, answer.usage.output_tokens)
        seen.text = answer.output_text
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return seen
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        for call in calls:
            seen.tool_inputs.append(json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": REPLY})


def anthropic() -> Seen:
    from anthropic import Anthropic

    seen = Seen()
    client = Anthropic(base_url=ORIGIN, api_key=API_KEY)
    tools = [{"name": "get_weather", "description": "Weather", "input_schema": SCHEMA}]
    messages: list = [{"role": "user", "content": PROMPT}]
    while True:
        with client.messages.stream(model=MODEL, max_tokens=1024, messages=messages, tools=tools) as stream:
            answer = stream.get_final_message()
        seen.count(answer.usage.input_tokens, answer.usage.output_tokens)
        seen.text = "".join(block.text for block in answer.content if block.type == "text")
        if answer.stop_reason != "tool_use":
            return seen
        calls = [block for block in answer.content if block.type == "tool_use"]
        seen.tool_inputs += [call.input for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": REPLY} for call in calls]
        messages += [
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]},
            {"role": "user", "content": results},
        ]


def anthropic_tool_runner(stream: bool = False) -> Seen:
    from anthropic import Anthropic, beta_tool

    seen = Seen()

    @beta_tool
    def get_weather(city: str) -> str:
        """Weather in a city."""
        seen.tool_inputs.append({"city": city})
        return REPLY

    runner = Anthropic(base_url=ORIGIN, api_key=API_KEY, max_retries=0).beta.messages.tool_runner(
        model=MODEL, max_tokens=1024, messages=[{"role": "user", "content": PROMPT}], tools=[get_weather], stream=stream
    )
    for turn in runner:
        answer = turn.get_final_message() if stream else turn
        seen.count(answer.usage.input_tokens, answer.usage.output_tokens)
        seen.text = "".join(block.text for block in answer.content if block.type == "text")
    return seen


def langchain(chat) -> Seen:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    seen = Seen()

    @tool
    def get_weather(city: str) -> str:
        """Weather in a city."""
        seen.tool_inputs.append({"city": city})
        return REPLY

    bound = chat.bind_tools([get_weather])
    messages: list = [HumanMessage(PROMPT)]
    while True:
        answer = None
        for chunk in bound.stream(messages):
            answer = chunk if answer is None else answer + chunk
        seen.count(answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"])
        seen.text = answer.text if isinstance(answer.text, str) else answer.text()
        messages.append(answer)
        if not answer.tool_calls:
            return seen
        for call in answer.tool_calls:
            messages.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))


def langchain_openai() -> Seen:
    from langchain_openai import ChatOpenAI

    return langchain(ChatOpenAI(model=MODEL, base_url=BASE, api_key=API_KEY, stream_usage=True))


def langchain_anthropic() -> Seen:
    from langchain_anthropic import ChatAnthropic

    return langchain(ChatAnthropic(model=MODEL, base_url=ORIGIN, api_key=API_KEY, max_tokens=1024))


def instructor() -> Seen:
    import instructor as library
    from openai import OpenAI
    from pydantic import BaseModel

    class City(BaseModel):
        """The city of the question."""

        city: str

    seen = Seen()
    client = library.from_openai(OpenAI(base_url=BASE, api_key=API_KEY))
    city, answer = client.chat.completions.create_with_completion(
        model=MODEL, response_model=City, messages=[{"role": "user", "content": PROMPT}]
    )
    seen.tool_inputs.append(city.model_dump())
    seen.text = answer.choices[0].message.content or ""
    seen.count(answer.usage.prompt_tokens, answer.usage.completion_tokens)
    return seen


def pydantic_ai() -> Seen:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    seen = Seen()
    agent = Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE, api_key=API_KEY)))

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Weather in a city."""
        seen.tool_inputs.append({"city": city})
        return REPLY

    async def streamed(_context, events) -> None:
        async for _event in events:
            pass

    result = asyncio.run(agent.run(PROMPT, event_stream_handler=streamed))
    used = result.usage() if callable(result.usage) else result.usage
    seen.text = result.output
    seen.count(used.input_tokens, used.output_tokens)
    return seen


def litellm(provider: str, base: str) -> Seen:
    import litellm as library

    seen = Seen()
    function = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}
    messages: list = [{"role": "user", "content": PROMPT}]
    while True:
        chunks = list(
            library.completion(
                model=f"{provider}/{MODEL}",
                api_base=base,
                api_key=API_KEY,
                messages=messages,
                max_tokens=1024,
                tools=[{"type": "function", "function": function}],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        answer = library.stream_chunk_builder(chunks, messages=messages)
        seen.count(answer.usage.prompt_tokens, answer.usage.completion_tokens)
        message = answer.choices[0].message
        seen.text = message.content or ""
        if not message.tool_calls:
            return seen
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            seen.tool_inputs.append(json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": REPLY})


def litellm_openai() -> Seen:
    return litellm("openai", BASE)


def litellm_anthropic() -> Seen:
    return litellm("anthropic", ORIGIN)


def openai_agents() -> Seen:
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    seen = Seen()

    @function_tool
    def get_weather(city: str) -> str:
        """Weather in a city."""
        seen.tool_inputs.append({"city": city})
        return REPLY

    client = AsyncOpenAI(base_url=BASE, api_key=API_KEY)
    agent = Agent(name="weather", tools=[get_weather], model=OpenAIResponsesModel(MODEL, client))

    async def run() -> None:
        result = Runner.run_streamed(agent, PROMPT)
        async for _event in result.stream_events():
            pass
        used = result.context_wrapper.usage
        seen.text = result.final_output
        seen.count(used.input_tokens, used.output_tokens)

    asyncio.run(run())
    return seen


def parse(name: str) -> dict:
    from pydantic import BaseModel

    class Weather(BaseModel):
        """The weather in a city."""

        city: str
        celsius: int

    messages: list = [{"role": "user", "content": PROMPT}]
    if name == "openai chat":
        from openai import OpenAI

        chat = OpenAI(base_url=BASE, api_key=API_KEY, max_retries=0).chat.completions
        return chat.parse(model=MODEL, messages=messages, response_format=Weather).choices[0].message.parsed.model_dump()
    if name == "openai responses":
        from openai import OpenAI

        responses = OpenAI(base_url=BASE, api_key=API_KEY, max_retries=0).responses
        return responses.parse(model=MODEL, input=PROMPT, text_format=Weather, store=False).output_parsed.model_dump()
    if name == "anthropic":
        from anthropic import Anthropic

        client = Anthropic(base_url=ORIGIN, api_key=API_KEY, max_retries=0)
        answer = client.messages.parse(model=MODEL, max_tokens=1024, messages=messages, output_format=Weather)
        return answer.parsed_output.model_dump()
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE, api_key=API_KEY))
    return Agent(model, output_type=NativeOutput(Weather)).run_sync(PROMPT).output.model_dump()


def background() -> dict:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=API_KEY)

    def begin(prompt: str):
        return client.responses.create(model=MODEL, input=prompt, background=True)

    def over(response):
        while response.status in ("queued", "in_progress"):
            time.sleep(0.1)
            response = client.responses.retrieve(response.id)
        return response

    polled = over(begin(PROMPT))
    cancelled = over(client.responses.cancel(begin(f"{PROMPT} @demo tokens=500 delay=50").id))
    resumed, identity, last = "", "", -1
    for event in client.responses.create(model=MODEL, input=PROMPT, background=True, stream=True):
        last = event.sequence_number
        if event.type == "response.created":
            identity = event.response.id
        if event.type == "response.output_text.delta":
            resumed += event.delta
            break
    for event in client.responses.retrieve(identity, stream=True, starting_after=last):
        if event.type == "response.output_text.delta":
            resumed += event.delta
    usage = {"input": polled.usage.input_tokens, "output": polled.usage.output_tokens}
    return {"polled": polled.output_text, "usage": usage, "cancelled": cancelled.status, "resumed": resumed}


def fail_openai(api_key: str, model: str, prompt: str, more: dict) -> None:
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key=api_key, max_retries=0)
    client.chat.completions.create(model=model, messages=[{"role": "user", "content": prompt}], **more)


def fail_anthropic(api_key: str, model: str, prompt: str, more: dict) -> None:
    from anthropic import Anthropic

    client = Anthropic(base_url=ORIGIN, api_key=api_key, max_retries=0)
    messages = [{"role": "user", "content": prompt}]
    client.messages.create(model=model, max_tokens=5, messages=messages, extra_body=more)


def fail_litellm(provider: str, base: str):
    def fail(api_key: str, model: str, prompt: str, more: dict) -> None:
        import litellm as library

        library.completion(
            model=f"{provider}/{model}",
            api_base=base,
            api_key=api_key,
            max_tokens=5,
            max_retries=0,
            messages=[{"role": "user", "content": prompt}],
            **more,
        )

    return fail


def raised_by(fail, case: dict) -> dict:
    try:
        fail(**case)
    except Exception as error:  # the exception is the result
        return {"exception": type(error).__name__, "status": getattr(error, "status_code", None)}
    return {"exception": None, "status": 200}


def google_genai() -> Seen:
    from google import genai
    from google.genai import types

    seen = Seen()
    client = genai.Client(api_key=API_KEY, http_options={"base_url": ORIGIN})
    function = {"name": "get_weather", "description": "Weather", "parameters_json_schema": SCHEMA}
    config = {"tools": [{"function_declarations": [function]}], "automatic_function_calling": {"disable": True}}
    contents: list = [{"role": "user", "parts": [{"text": PROMPT}]}]
    while True:
        parts: list = []
        for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=config):
            for candidate in chunk.candidates or []:
                parts.extend((candidate.content and candidate.content.parts) or [])
            usage = chunk.usage_metadata
            if usage:
                written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
                seen.count(usage.prompt_token_count or 0, written)
        seen.text = "".join(part.text or "" for part in parts if not part.thought)
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return seen
        seen.tool_inputs.extend(call.args for call in calls)
        results = [
            types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": REPLY}))
            for call in calls
        ]
        contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=results)]


def embed() -> dict:
    from google import genai

    client = genai.Client(api_key=API_KEY, http_options={"base_url": ORIGIN})
    made = client.models.embed_content(model=MODEL, contents=[PROMPT, PROMPT])
    return {"lengths": [len(each.values) for each in made.embeddings]}


CLIENTS = {
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "anthropic": anthropic,
    "anthropic tool runner": anthropic_tool_runner,
    "anthropic tool runner, streaming": lambda: anthropic_tool_runner(stream=True),
    "langchain-openai": langchain_openai,
    "langchain-anthropic": langchain_anthropic,
    "instructor": instructor,
    "pydantic-ai": pydantic_ai,
    "litellm (openai)": litellm_openai,
    "litellm (anthropic)": litellm_anthropic,
    "openai-agents": openai_agents,
    "google-genai": google_genai,
}
FAILURES = {
    "openai": fail_openai,
    "anthropic": fail_anthropic,
    "litellm (openai)": fail_litellm("openai", BASE),
    "litellm (anthropic)": fail_litellm("anthropic", ORIGIN),
}


def main() -> None:
    what, name = sys.argv[1], sys.argv[-1]
    if what == "converse":
        print(json.dumps(CLIENTS[name]().json()))
    elif what == "parse":
        print(json.dumps(parse(name)))
    elif what == "embed":
        print(json.dumps(embed()))
    elif what == "background":
        print(json.dumps(background()))
    else:
        print(json.dumps([raised_by(FAILURES[name], case) for case in json.loads(os.environ["CASES"])]))


if __name__ == "__main__":
    main()
