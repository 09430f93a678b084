// Verifies the card on standard input with @a2a-js/sdk, for cards_test.go, and prints what
// came of it.
import { readFileSync } from 'node:fs';
import { verifyAgentCardSignature } from '@a2a-js/sdk';
import { importJWK } from 'jose';

console.debug = () => {};

const verify = verifyAgentCardSignature(async (kid, jku) => {
  const { keys } = await (await fetch(jku)).json();
  const key = keys.find((key) => key.kid === kid);
  return importJWK(key, key.alg);
});

try {
  await verify(JSON.parse(readFileSync(0, 'utf8')));
  console.log('verified');
} catch (error) {
  console.log(error.message);
}
