"""Microsoft's Agent Framework: docs/a2a/microsoft.md."""

import asyncio
import os

import httpx
from agent_framework.a2a import A2AAgent

BASE = os.environ["BASE"]


def remote(token, path):
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=300)
    return A2AAgent(name="shop", url=f"{BASE}/a2a/assistant{path}", http_client=http)


from agent_framework import Message


async def talk(agent, questions, stream):
    session = agent.create_session()
    for question in questions:
        if stream:
            async for update in agent.run(question, session=session, stream=True):
                show(update.contents)
        else:
            response = await agent.run(question, session=session)
            show([content for message in response.messages for content in message.contents])


def show(contents):
    """Prints the texts without the data, which they show as JSON."""
    texts = [content.text.partition("{\n")[0] for content in contents if content.type == "text"]
    print("-", *(text.strip() for text in texts))


async def main():
    token = os.environ["TOKEN"]
    shop, workshop = remote(token, "/alice/shop"), remote(token, "/alice/workshop")
    for stream in [True, False]:
        print(f"\n== stream={stream}")
        await talk(shop, ["How many orders are there in Berlin?", "And in Paris?", "What is the meaning of love?"], stream)
        await talk(workshop, ["How many work orders were there in 2025?", "2"], stream)
        for agent in [remote("nobody", "/alice/shop"), remote(token, "/alice/elsewhere")]:
            try:
                await talk(agent, ["How many orders are there?"], stream)
            except Exception as error:
                print(type(error).__name__, str(error).splitlines()[0])
    print("\n== namespace in the metadata")
    question = Message("user", ["How many orders are there?"], additional_properties={"a2a": {"namespace": "alice/shop"}})
    await talk(remote(token, ""), [question], True)


asyncio.run(main())
