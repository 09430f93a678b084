// Verifies the cards on standard input, one a line, with @a2a-js/sdk, for cards_test.go, and
// prints what came of each.
import { createInterface } from 'node:readline';
import { verifyAgentCardSignature } from '@a2a-js/sdk';
import { importJWK } from 'jose';

console.debug = () => {};

const verify = verifyAgentCardSignature(async (kid, jku) => {
  const { keys } = await (await fetch(jku)).json();
  const key = keys.find((key) => key.kid === kid);
  return importJWK(key, key.alg);
});

for await (const card of createInterface({ input: process.stdin })) {
  try {
    await verify(JSON.parse(card));
    console.log('verified');
  } catch (error) {
    console.log(error.message);
  }
}
