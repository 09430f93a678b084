// An Express server on @a2a-js/sdk with the benchmark's agent of four events. It
// prints its port, and ends with its standard input.
import express from "express";
import { TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { UserBuilder, jsonRpcHandler } from "@a2a-js/sdk/server/express";

const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
const text = (value) => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" });

const agent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const told = (state) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined }));
    bus.publish(AgentEvent.task({
      id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata: undefined,
    }));
    told(TaskState.TASK_STATE_WORKING);
    bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append: false, lastChunk: true, metadata: undefined,
      artifact: { artifactId: "answer", name: "answer", description: "", parts: [text("forty-two")], metadata: undefined, extensions: [] },
    }));
    told(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask() {},
};

const card = {
  name: "echo", description: "An agent of four events.", version: "1", provider: undefined,
  supportedInterfaces: [{ url: "http://127.0.0.1/echo", protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {}, securityRequirements: [], defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
  skills: [], signatures: [],
};

const app = express();
app.use("/echo", jsonRpcHandler({
  requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), agent),
  userBuilder: UserBuilder.noAuthentication,
}));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit());
