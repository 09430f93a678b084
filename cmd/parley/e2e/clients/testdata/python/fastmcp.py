"""FastMCP's client of MCP, over HTTP and stdio: docs/mcp.md."""

import asyncio
import os

from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

SERVER = os.environ["BASE"].removesuffix("/api/v1")


def over_http(token):
    return StreamableHttpTransport(f"{SERVER}/mcp", auth=BearerAuth(token))


def over_stdio(token):
    env = {"PARLEY_SERVER": SERVER, "PARLEY_TOKEN": token}
    return StdioTransport(os.environ["PARLEY"], ["mcp"], env=env)


async def choose(message, response_type, params, context):
    print("asked:", message)
    return {name: "2" for name in params.requested_schema["properties"]}


async def use(client, tool, **arguments):
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    content = result.structured_content or {}
    print(tool, "error" if result.is_error else content.get("status", ""), "|", result.content[0].text.splitlines()[0])
    return content


async def main():
    token = os.environ["TOKEN"]
    which = "How many work orders were there in 2025?"
    for connect in [over_http, over_stdio]:
        print(f"\n== {connect.__name__}")
        async with Client(connect(token)) as client:
            print(*(tool.name for tool in await client.list_tools()))
            print(*(str(resource.uri) for resource in await client.list_resources()))
            first = await use(client, "ask", question="How many orders are there in Berlin?", namespace="shop")
            await use(client, "ask", question="And in Paris?", conversation_id=first["conversation_id"])
            asked = await use(client, "ask", question=which, namespace="workshop")
            await use(client, "ask", question="2", run_id=asked["run_id"])
            await use(client, "ask", question="What is the meaning of love?", namespace="shop")
            await use(client, "run_sql", namespace="shop", query="SELECT nothing FROM orders")
            await use(client, "ask", question="How many orders are there?", namespace="elsewhere")
        async with Client(connect(token), elicitation_handler=choose) as client:
            await use(client, "ask", question=which, namespace="workshop")
        try:
            async with Client(connect("nobody")) as client:
                await use(client, "list_datasets")
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])


asyncio.run(main())
