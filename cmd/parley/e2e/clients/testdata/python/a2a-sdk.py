"""The Python SDK of A2A 1.x: docs/a2a/python.md."""

import asyncio
import os

from uuid import uuid4

import grpc
from a2a.client import AuthInterceptor, ClientConfig, CredentialService, create_client
from a2a.types import Message, Part, Role, SendMessageRequest


class Token(CredentialService):
    def __init__(self, token):
        self.token = token

    async def get_credentials(self, security_scheme_name, context):
        return self.token


def connect(address, token, binding="JSONRPC", **options):
    config = ClientConfig(
        supported_protocol_bindings=[binding],
        grpc_channel_factory=grpc.aio.insecure_channel,  # secure_channel for a server with TLS
    )
    return create_client(address, config, [AuthInterceptor(Token(token))], **options)


def question(text, namespace, **conversation):
    message = Message(
        message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **conversation
    )
    message.metadata.update({"namespace": namespace})
    return SendMessageRequest(message=message)


from a2a.types import TaskState
from a2a.utils.signing import create_signature_verifier
from jwt import PyJWKClient

verify = create_signature_verifier(
    lambda kid, jku: PyJWKClient(jku).get_signing_key(kid), algorithms=["ES256", "EdDSA"]
)


async def ask(client, request):
    """Prints the events, with the text of the last one that has any, and returns the last one."""
    kinds, text = [], ""
    async for event in client.send_message(request):
        kind = event.WhichOneof("payload")
        last = getattr(event, kind)
        if kind == "artifact_update":
            kinds.append(last.artifact.artifact_id)
            parts = last.artifact.parts
        else:
            kinds.append(TaskState.Name(last.status.state).removeprefix("TASK_STATE_").lower())
            parts = last.status.message.parts
        text = "\n".join(part.text for part in parts if part.text) or text
    print(*kinds, "|", text)
    return last


async def main():
    base, token = os.environ["BASE"], os.environ["TOKEN"]
    for agent, binding in [
        ("assistant", "JSONRPC"), ("assistant", "HTTP+JSON"), ("assistant", "GRPC"),
        ("nl2ql", "JSONRPC"), ("assistant/v0.3", "JSONRPC"),
    ]:
        print(f"\n== {agent} over {binding}")
        async with await connect(f"{base}/a2a/{agent}", token, binding) as client:
            first = await ask(client, question("How many orders are there in Berlin?", "shop"))
            await ask(client, question("And in Paris?", "shop", context_id=first.context_id))
            asked = await ask(client, question("How many work orders were there in 2025?", "workshop"))
            await ask(client, question("2", "workshop", task_id=asked.task_id, context_id=asked.context_id))
            await ask(client, question("What is the meaning of love?", "shop"))
            await refused(ask(client, question("How many orders are there?", "elsewhere")))
        async with await connect(f"{base}/a2a/{agent}", "nobody", binding) as client:
            await refused(ask(client, question("How many orders are there?", "shop")))
    print("\n== signed cards")
    await connect(f"{base}/a2a/assistant", token, signature_verifier=verify)
    await refused(connect(f"{base}/a2a/assistant/v0.3", token, signature_verifier=verify))


async def refused(call):
    try:
        await call
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
    else:
        raise AssertionError("it was not refused")


asyncio.run(main())
