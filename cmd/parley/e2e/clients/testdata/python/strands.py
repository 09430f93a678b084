"""Strands Agents: docs/a2a/strands.md."""

import asyncio
import os

import httpx
from a2a.client import ClientConfig
from strands import Agent, tool
from strands.agent.a2a_agent import A2AAgent

BASE = os.environ["BASE"]


def remote(token, agent="assistant"):
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=300)
    return A2AAgent(
        endpoint=f"{BASE}/a2a/{agent}/v0.3", client_config=ClientConfig(httpx_client=http)
    )


def analyst(model, token):
    shop = remote(token)

    @tool
    async def ask_shop(question: str) -> str:
        """Answers one plain question about the orders, customers and products of the shop."""
        result = await shop.invoke_async(question)
        return result.message["content"][-1]["text"]

    return Agent(model=model, tools=[ask_shop], callback_handler=None)


from strands.models import Model


class Scripted(Model):
    """Calls the tool with a question, and then repeats the result."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **options):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **options):
        yield {"messageStart": {"role": "assistant"}}
        last = messages[-1]["content"][0]
        if "toolResult" in last:
            yield {"contentBlockDelta": {"delta": {"text": str(last["toolResult"]["content"])}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "ask_shop", "toolUseId": "1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"question": "%s"}' % last["text"]}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}


async def ask(agent, question):
    print(">", question)
    try:
        events = 0
        async for event in agent.stream_async(question):
            events += "result" not in event
        result = event["result"]
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
        return
    print(events, "events,", result.stop_reason, result.state.get("a2a_task_state"))
    print([content["text"] for content in result.message["content"]])


async def main():
    shop, workshop = os.environ["SHOP_TOKEN"], os.environ["WORKSHOP_TOKEN"]
    agent = remote(shop)
    await ask(agent, "How many orders are there in Berlin?")
    await ask(agent, "And in Paris?")
    await ask(agent, "What is the meaning of love?")
    await ask(remote(shop, "nl2ql"), "What is the meaning of love?")
    await ask(remote(workshop), "How many work orders were there in 2025?")
    await ask(remote("nobody"), "How many orders are there?")
    print("\n== as a tool")
    for token in [shop, "nobody"]:
        result = await analyst(Scripted(), token).invoke_async("How many orders are there in Berlin?")
        print(result.message["content"][0]["text"].splitlines()[0])


asyncio.run(main())
