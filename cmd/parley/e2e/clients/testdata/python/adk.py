"""Google's Agent Development Kit: docs/a2a/adk.md."""

import asyncio
import logging
import os

import httpx
from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.tools.agent_tool import AgentTool

BASE = os.environ["BASE"]


def remote(token, metadata, card="assistant/v0.3", **options):
    return RemoteA2aAgent(
        name="shop",
        description="Answers questions about the orders, customers and products of the shop.",
        agent_card=f"{BASE}/a2a/{card}/.well-known/agent-card.json",
        httpx_client=httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=300),
        a2a_request_meta_provider=lambda context, message: metadata,
        **options,
    )


def as_tool(model, token, namespace):
    shop = remote(token, {"namespace": namespace, "neverAsk": True})
    return LlmAgent(
        name="analyst",
        model=model,
        instruction="Ask shop for every figure. Give it one plain question at a time.",
        tools=[AgentTool(agent=shop)],
    )


def last_question(context, name, convert):
    """Sends the user's last text in the conversation of the agent's last answer."""
    events = context.session.events
    asked = [event for event in events if event.author == "user" and event.content][-1]
    ids = [event.custom_metadata["a2a:context_id"] for event in events
           if event.author == name and "a2a:context_id" in (event.custom_metadata or {})]
    return [convert(part) for part in asked.content.parts], ids[-1] if ids else None


def as_sub_agent(model, token, namespace):
    shop = remote(token, {"namespace": namespace}, context_builder=last_question)
    return LlmAgent(name="analyst", model=model, instruction="Leave figures to shop.", sub_agents=[shop])


from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

logging.disable()


class Scripted(BaseLlm):
    """Calls these functions, one after the other, and then repeats the result."""

    calls: list

    async def generate_content_async(self, llm_request, stream=False):
        if self.calls:
            name, args = self.calls.pop(0)
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        else:
            part = types.Part(text=llm_request.contents[-1].parts[0].function_response.response["result"])
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def talk(agent, *texts):
    runner = InMemoryRunner(agent=agent, app_name="test")
    session = await runner.session_service.create_session(app_name="test", user_id="user")
    for text in texts:
        print(">", text)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            for part in event.content.parts if event.content else []:
                if part.function_call:
                    print(event.author, "calls", part.function_call.name, part.function_call.args)
                elif part.text:
                    print(event.author, "says", part.text)
            if event.error_message:
                print(event.author, "fails:", event.error_message)
    session = await runner.session_service.get_session(app_name="test", user_id="user", session_id=session.id)
    texts = [part.text for event in session.events if event.content for part in event.content.parts if part.text]
    print("last in the session:", texts[-1])


async def main():
    token = os.environ["TOKEN"]
    shop, workshop = {"namespace": "alice/shop"}, {"namespace": "alice/workshop"}
    which = "How many work orders were there in 2025?"
    print("== alone")
    await talk(remote(token, shop), "How many orders are there in Berlin?", "And in Paris?", "What is the meaning of love?")
    await talk(remote(token, workshop), which, "2")
    print("\n== as a tool")
    model = Scripted(model="scripted", calls=[("shop", {"request": which})])
    await talk(as_tool(model, token, "alice/workshop"), which)
    print("\n== as a sub-agent")
    transfer = ("transfer_to_agent", {"agent_name": "shop"})
    model = Scripted(model="scripted", calls=[transfer, transfer])
    await talk(as_sub_agent(model, token, "alice/workshop"), which, "2")
    print("\n== failures")
    await talk(remote("nobody", shop), which)
    await talk(remote(token, {"namespace": "elsewhere"}), which)
    await talk(remote(token, shop, card="assistant"), which)


asyncio.run(main())
