"""The Python SDK of A2A 0.3: docs/a2a/python.md."""

import asyncio
import os

from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TextPart


def connect(address, token, **options):
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=300)
    return ClientFactory.connect(address, ClientConfig(httpx_client=http, **options))


def question(text, namespace, **conversation):
    return Message(
        message_id=str(uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))],
        metadata={"namespace": namespace}, **conversation,
    )


async def ask(client, message):
    """Prints the events, with the text of the task, and returns the task."""
    kinds = []
    async for task, update in client.send_message(message):
        artifact = getattr(update, "artifact", None)
        kinds.append(artifact.artifact_id if artifact else task.status.state.value)
    said = task.status.message or task.artifacts[-1]
    print(*kinds, "|", *(part.root.text for part in said.parts if part.root.kind == "text"))
    return task


async def main():
    base, token = os.environ["BASE"], os.environ["TOKEN"]
    for agent in ["assistant", "nl2ql"]:
        for streaming in [True, False]:
            print(f"\n== {agent}, streaming {streaming}")
            client = await connect(f"{base}/a2a/{agent}/v0.3", token, streaming=streaming)
            first = await ask(client, question("How many orders are there in Berlin?", "shop"))
            await ask(client, question("And in Paris?", "shop", context_id=first.context_id))
            asked = await ask(client, question("How many work orders were there in 2025?", "workshop"))
            await ask(client, question("2", "workshop", task_id=asked.id, context_id=asked.context_id))
            await ask(client, question("What is the meaning of love?", "shop"))
            await refused(ask(client, question("How many orders are there?", "elsewhere")))
            client = await connect(f"{base}/a2a/{agent}/v0.3", "nobody", streaming=streaming)
            await refused(ask(client, question("How many orders are there?", "shop")))


async def refused(call):
    try:
        await call
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
    else:
        raise AssertionError("it was not refused")


asyncio.run(main())
