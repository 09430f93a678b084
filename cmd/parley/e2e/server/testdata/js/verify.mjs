// Verifies the card on standard input with @a2a-js/sdk, for cards_test.go, as it came and as
// the SDK parses it. It prints what came of each.
import { readFileSync } from 'node:fs';
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { importJWK } from 'jose';

console.debug = () => {};

const verify = verifyAgentCardSignature(async (kid, jku) => {
  const { keys } = await (await fetch(jku)).json();
  const key = keys.find((key) => key.kid === kid);
  return importJWK(key, key.alg);
});

const card = JSON.parse(readFileSync(0, 'utf8'));
for (const [name, value] of [['raw', card], ['parsed', AgentCard.fromJSON(card)]]) {
  try {
    await verify(value);
    console.log(`${name}: verified`);
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
