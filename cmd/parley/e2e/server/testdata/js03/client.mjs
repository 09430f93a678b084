// A client of an agent on @a2a-js/sdk 0.3, run by clients_legacy_test.go as
//
//   PARLEY_TOKEN=… node client.mjs ADDRESS
//
// with the address that the card is below. It prints what came back as JSON.
import {
  ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${process.env.PARLEY_TOKEN}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
}));
const client = await factory.createFromUrl(process.argv[2]);

const question = (text) => ({
  message: {
    kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }], metadata: { namespace: 'shop' },
  },
});

const told = (event) => ({
  task: () => `task ${event.status.state}`,
  'status-update': () => event.status.state,
  'artifact-update': () => event.artifact.artifactId,
})[event.kind]();

// refused gives the name of the error of something that is to fail.
async function refused(work) {
  try {
    return JSON.stringify(await work());
  } catch (error) {
    return (error.cause ?? error).constructor.name.replace('JSONRPCError', 'Error');
  }
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(told(event));
  return events;
}

const task = await client.sendMessage(question('How many orders are there in Berlin?'));
console.log(JSON.stringify({
  card: (await client.getAgentCard()).name,
  sent: told(task),
  streamed: await all(client.sendMessageStream(question('How many orders are there?'))),
  got: told(await client.getTask({ id: task.id })),
  canceled: await refused(() => client.cancelTask({ id: task.id })),
  unknown: await refused(() => client.getTask({ id: crypto.randomUUID() })),
  ended: await refused(() => all(client.resubscribeTask({ id: task.id }))),
}));
