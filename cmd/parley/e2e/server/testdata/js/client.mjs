// A client of Parley's agents on @a2a-js/sdk, run by clients_node_test.go as
//
//   PARLEY_TOKEN=… node client.mjs BASE_URL AGENT answered|held BINDING
//
// It prints what comes back as lines of JSON, {"step", "value"}; errors are
// values too. "answered" asks questions that are answered, "held" one that is
// being worked on until it is canceled.
import { AgentCard, ListTasksRequest, ListTasksResponse, StreamResponse, Task } from '@a2a-js/sdk';
import { SendMessageRequest } from '@a2a-js/sdk';
import {
  ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';

async function connect(base, name, token, binding = 'JSONRPC') {
  const agents = await (await fetch(`${base}/a2a`)).json();
  const agent = agents.find((agent) => agent.name === name);
  const card = await new DefaultAgentCardResolver().resolve(agent.agentCard, '');

  const headers = {};
  for (const requirement of card.securityRequirements) {
    for (const declared of Object.keys(requirement.schemes)) {
      const { scheme } = card.securitySchemes[declared];
      if (scheme.$case === 'httpAuthSecurityScheme') headers.Authorization = `Bearer ${token}`;
    }
  }
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => headers,
    shouldRetryWithHeaders: async () => undefined,
  });
  const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    preferredTransports: [binding],
  }));
  return factory.createFromAgentCard(card);
}

const question = (text, namespace, configuration) => SendMessageRequest.fromJSON({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], metadata: { namespace } },
  configuration,
});

const print = (step, value) => console.log(JSON.stringify({ step, value }));

// refused prints the error of something that is to fail.
async function refused(step, work) {
  try {
    print(step, { unexpected: await work() });
  } catch (caught) {
    const error = caught.cause ?? caught; // that of a stream has the error of the protocol as its cause
    print(step, { name: error.name, reason: error.reason, message: error.message });
  }
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(StreamResponse.toJSON(event));
  return events;
}

async function answered(client) {
  print('card', AgentCard.toJSON(await client.getAgentCard()));

  const task = await client.sendMessage(question('How many orders are there in Berlin?', 'shop'));
  print('send', Task.toJSON(task));
  for await (const event of client.sendMessageStream(question('How many orders are there?', 'shop'))) {
    print('stream', StreamResponse.toJSON(event));
  }
  print('get', Task.toJSON(await client.getTask({ id: task.id })));

  let pageToken = '';
  do {
    const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 1, pageToken }));
    print('list', ListTasksResponse.toJSON(page));
    pageToken = page.nextPageToken;
  } while (pageToken);

  await refused('cancel', () => client.cancelTask({ id: task.id }));
  await refused('subscribe', () => all(client.resubscribeTask({ id: task.id })));
  await refused('unknown', () => client.getTask({ id: crypto.randomUUID() }));
  await refused('nowhere', () => client.sendMessage(question('How many orders are there?', 'nowhere')));
  await refused('nowhere', () => all(client.sendMessageStream(question('How many orders are there?', 'nowhere'))));
}

async function held(client) {
  const task = await client.sendMessage(question('How many orders are there?', 'shop', { returnImmediately: true }));
  print('send', Task.toJSON(task));
  let canceling;
  for await (const event of client.resubscribeTask({ id: task.id })) {
    print('subscribe', StreamResponse.toJSON(event));
    canceling ??= client.cancelTask({ id: task.id });
  }
  print('cancel', Task.toJSON(await canceling));
}

const [base, name, what, binding] = process.argv.slice(2);
await refused('stranger', async () => {
  const stranger = await connect(base, name, 'nobody', binding);
  return stranger.sendMessage(question('How many orders are there?', 'shop'));
});
await { answered, held }[what](await connect(base, name, process.env.PARLEY_TOKEN, binding));
