// The agents, called by A2A.
import { ListTasksRequest, ListTasksResponse, SendMessageRequest, StreamResponse, Task as SDKTask } from '@a2a-js/sdk';
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { base, call, send } from './api';
import { token } from './session';
import { whole, type Event, type Task } from './task';

export const agents = ['assistant', 'nl2ql'] as const;
export type Agent = (typeof agents)[number];

/** agentWords says what people get from an agent. */
export const agentWords: Record<Agent, string> = { assistant: 'Answer', nl2ql: 'Rows only' };

/**
 * local gives an address of the interface at the page's own origin: a server may
 * be known by several, and the page may only talk to the one that it is from.
 */
export function local(address: string, origin = base.origin): string {
  const url = new URL(address, origin);
  return url.origin === origin ? url.href : origin + url.pathname + url.search;
}

const fetchImpl: typeof fetch = (input, init) => send(local(input instanceof Request ? input.url : String(input)), init);

/** The clients of the user whose token it was. */
const clients = new Map<Agent, Promise<Client>>();
let owner = '';

function connect(agent: Agent): Promise<Client> {
  if (owner !== token.peek()) clients.clear();
  owner = token.peek();
  let client = clients.get(agent);
  if (!client) {
    client = open(agent);
    clients.set(agent, client);
    client.catch(() => clients.get(agent) === client && clients.delete(agent));
  }
  return client;
}

async function open(name: Agent): Promise<Client> {
  const list = await call<{ name: string; agentCard: string }[]>('GET', 'a2a');
  const agent = list.find((entry) => entry.name === name);
  if (!agent) throw new Error(`This server has no agent “${name}”.`);
  const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(agent.agentCard, '');
  return new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] }).createFromAgentCard(card);
}

export interface Question {
  text: string;
  /** owner/namespace */
  namespace: string;
  contextId: string;
  messageId: string;
  /** The name of the model that is to answer; '' for the default. */
  model: string;
}

/** The least confidence of an answer: one below 0.7 is marked as likely. */
const minConfidence = 0.4;

export async function* ask(agent: Agent, question: Question, signal: AbortSignal): AsyncGenerator<Event> {
  const client = await connect(agent);
  const message = {
    messageId: question.messageId,
    contextId: question.contextId,
    role: 'ROLE_USER',
    parts: [{ text: question.text }],
    metadata: { namespace: question.namespace, minConfidence, ...(question.model && { model: question.model }) },
  };
  yield* events(client.sendMessageStream(SendMessageRequest.fromJSON({ message }), { signal }));
}

/** subscribe gives the task as it is, and then what follows. */
export async function* subscribe(agent: Agent, id: string, signal: AbortSignal): AsyncGenerator<Event> {
  const client = await connect(agent);
  yield* events(client.resubscribeTask({ tenant: '', id }, { signal }));
}

async function* events(stream: AsyncIterable<StreamResponse>): AsyncGenerator<Event> {
  try {
    for await (const event of stream) yield StreamResponse.toJSON(event) as Event;
  } catch (error) {
    // The SDK wraps an error that comes as an event; its text has the code and the data too.
    throw error instanceof Error && error.cause instanceof Error && 'reason' in error.cause ? error.cause : error;
  }
}

export async function getTask(agent: Agent, id: string, signal: AbortSignal): Promise<Task> {
  const client = await connect(agent);
  return whole(SDKTask.toJSON(await client.getTask({ tenant: '', id }, { signal })) as Partial<Task>);
}

export async function cancel(agent: Agent, id: string): Promise<void> {
  const client = await connect(agent);
  await client.cancelTask({ tenant: '', id, metadata: undefined });
}

/** The most tasks of a conversation that are shown, of each agent: the latest. */
const mostTasks = 100;

/** tasksOf gives the tasks of a conversation that an agent has, in no order. */
export async function tasksOf(agent: Agent, contextId: string, signal: AbortSignal): Promise<Task[]> {
  const client = await connect(agent);
  const found: Task[] = [];
  let pageToken = '';
  do {
    const request = ListTasksRequest.fromJSON({ contextId, includeArtifacts: true, pageSize: 20, pageToken });
    const page = ListTasksResponse.toJSON(await client.listTasks(request, { signal })) as {
      tasks?: Partial<Task>[];
      nextPageToken?: string;
    };
    found.push(...(page.tasks ?? []).map(whole));
    pageToken = page.nextPageToken ?? '';
  } while (pageToken && found.length < mostTasks);
  return found;
}
