"""LangGraph with the Python SDK of A2A: docs/a2a/langgraph.md."""

import asyncio
import os

from uuid import uuid4

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import Message, Part, Role, SendMessageRequest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver


async def build_graph(model, base, token, namespace):
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=300)
    parley = await create_client(f"{base}/a2a/assistant", ClientConfig(httpx_client=http, streaming=False))

    @tool
    async def ask_shop(question: str, config: RunnableConfig) -> str:
        """Answers one plain question about the orders, customers and products of the shop."""
        message = Message(
            message_id=str(uuid4()),
            context_id=config["configurable"]["thread_id"],
            role=Role.ROLE_USER,
            parts=[Part(text=question)],
        )
        message.metadata.update({"namespace": namespace})
        try:
            async for item in parley.send_message(SendMessageRequest(message=message)):
                task = item.task
        except Exception as error:
            return f"No answer: {error}"
        parts = task.status.message.parts or task.artifacts[-1].parts
        return "\n".join(part.text for part in parts if part.text)

    return create_agent(model, tools=[ask_shop], checkpointer=InMemorySaver())


from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Scripted(GenericFakeChatModel):
    """Calls the tool with these questions, one after the other, and then ends."""

    def bind_tools(self, tools, **options):
        return self


def scripted(*questions):
    calls = [AIMessage("", tool_calls=[{"name": "ask_shop", "args": {"question": question}, "id": str(uuid4())}])
             for question in questions]
    return Scripted(messages=iter([*calls, AIMessage("That is all.")]))


async def talk(token, namespace, *questions):
    graph = await build_graph(scripted(*questions), os.environ["BASE"], token, namespace)
    config = {"configurable": {"thread_id": str(uuid4())}}
    state = await graph.ainvoke({"messages": [("user", "Look it up.")]}, config)
    for message in state["messages"]:
        for call in message.tool_calls if message.type == "ai" else []:
            print(">", call["args"]["question"])
        if message.type == "tool":
            print(message.content.splitlines()[0] if message.content.startswith("No answer") else message.content)


async def main():
    token = os.environ["TOKEN"]
    await talk(token, "alice/shop", "How many orders are there in Berlin?", "And in Paris?", "What is the meaning of love?")
    await talk(token, "alice/workshop", "How many work orders were there in 2025?", "2")
    await talk(token, "alice/elsewhere", "How many orders are there?")
    await talk("nobody", "alice/shop", "How many orders are there?")


asyncio.run(main())
