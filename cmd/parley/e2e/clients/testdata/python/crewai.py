"""CrewAI: docs/a2a/crewai.md."""

import json
import os
import re
import sys

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")
out, sys.stdout = sys.stdout, sys.stderr  # CrewAI writes warnings

from crewai import Agent, Crew, Task
from crewai.a2a import A2AClientConfig
from crewai.a2a.auth import BearerTokenAuth

CARD = os.environ["BASE"] + "/a2a/assistant/v0.3/.well-known/agent-card.json"


def build_crew(model, token, question, trust=True):
    analyst = Agent(
        role="Analyst",
        goal="Answer questions about the shop",
        backstory="You have every figure looked up by the shop's data agent, with one plain question.",
        llm=model,
        a2a=A2AClientConfig(
            endpoint=CARD,
            auth=BearerTokenAuth(token=token),
            accepted_output_modes=["text/plain"],
            trust_remote_completion_status=trust,
        ),
    )
    task = Task(description=question, expected_output="A number", agent=analyst)
    return Crew(agents=[analyst], tasks=[task])


from crewai import BaseLLM


class Scripted(BaseLLM):
    """Delegates these messages, one after the other, and then gives an answer of its own."""

    messages: list

    def call(self, messages, *args, **options):
        if seen := re.findall(r"Which do you mean\?|HTTP Error 401", str(messages)):
            print("the model sees:", seen[-1], file=out)
        delegated = bool(self.messages)
        message = self.messages.pop(0) if delegated else "The model's own answer."
        return json.dumps({"a2a_ids": [CARD] * delegated, "message": message, "is_a2a": delegated})


for token, trust, messages in [
    ("SHOP", True, ["How many orders are there in Berlin?"]),
    ("SHOP", False, ["How many orders are there in Berlin?"]),
    ("WORKSHOP", True, ["How many work orders were there in 2025?", "2"]),
    ("SHOP", True, ["What is the meaning of love?"]),
    ("NO", True, ["How many orders are there?"]),
]:
    print("\n==", token, *messages, file=out)
    model = Scripted(model="scripted", messages=messages)
    print(build_crew(model, os.environ.get(token + "_TOKEN", "nobody"), messages[0], trust).kickoff(), file=out)
