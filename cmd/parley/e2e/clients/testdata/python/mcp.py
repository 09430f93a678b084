"""The Python SDK of MCP, over HTTP and stdio: docs/mcp.md."""

import asyncio
import os
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.types import ElicitResult

SERVER = os.environ["BASE"].removesuffix("/api/v1")


def over_http(token):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return streamable_http_client(f"{SERVER}/mcp", http_client=http)


def over_stdio(token):
    env = {"PARLEY_SERVER": SERVER, "PARLEY_TOKEN": token}
    return stdio_client(StdioServerParameters(command=os.environ["PARLEY"], args=["mcp"], env=env))


class Memory:
    """Where the client keeps what it gets."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class User:
    """Allows in a browser what an application asks for."""

    def __init__(self, token):
        self.token = token

    async def visit(self, address):
        async with httpx2.AsyncClient() as browser:
            page = await browser.get(address)
            print("consent:", page.status_code, "Notes" in page.text)
            form = dict(parse_qsl(urlsplit(address).query)) | {"decision": "allow", "token": self.token}
            back = await browser.post(address.split("?")[0], data=form)
            self.answer = dict(parse_qsl(urlsplit(back.headers["location"]).query))

    async def returned(self):
        return AuthorizationCodeResult(code=self.answer["code"], state=self.answer["state"], iss=self.answer["iss"])


async def sign_in(token):
    print("\n== signs in")
    user, memory = User(token), Memory()
    about = OAuthClientMetadata(client_name="Notes", redirect_uris=["http://127.0.0.1:33418/callback"], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(f"{SERVER}/mcp", about, memory, user.visit, user.returned)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http, Client(streamable_http_client(f"{SERVER}/mcp", http_client=http)) as client:
        await use(client, "ask", question="How many orders are there in Berlin?", namespace="shop")


async def choose(context, params):
    print("asked:", params.message)
    options = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={name: "2" for name in options})


async def use(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    content = result.structured_content or {}
    print(tool, "error" if result.is_error else content.get("status", ""), "|", result.content[0].text.splitlines()[0])
    return content


async def main():
    token = os.environ["TOKEN"]
    which = "How many work orders were there in 2025?"
    for connect in [over_http, over_stdio]:
        for mode in ["auto", "legacy"]:
            async with Client(connect(token), mode=mode) as client:
                print(f"\n== {connect.__name__}, {mode}: {client.protocol_version}")
                print(*(tool.name for tool in (await client.list_tools()).tools))
                print(*(str(resource.uri) for resource in (await client.list_resources()).resources))
                first = await use(client, "ask", question="How many orders are there in Berlin?", namespace="shop")
                await use(client, "ask", question="And in Paris?", conversation_id=first["conversation_id"])
                asked = await use(client, "ask", question=which, namespace="workshop")
                await use(client, "ask", question="2", run_id=asked["run_id"])
                await use(client, "ask", question="What is the meaning of love?", namespace="shop")
                await use(client, "run_sql", namespace="shop", query="SELECT nothing FROM orders")
                await use(client, "ask", question="How many orders are there?", namespace="elsewhere")
        async with Client(connect(token), elicitation_callback=choose) as client:
            print(f"\n== {connect.__name__}, with elicitation")
            await use(client, "ask", question=which, namespace="workshop")
        try:
            async with Client(connect("nobody")) as client:
                await use(client, "list_datasets")
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            print(type(error).__name__, str(error).splitlines()[0])
    await sign_in(token)


asyncio.run(main())
