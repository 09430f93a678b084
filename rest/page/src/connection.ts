// Whether the server can be reached.
import { signal } from '@preact/signals';

/** lost is true from a request that got no answer until the server answers again. */
export const lost = signal(false);

/** How often a server that is away is looked for, and how long it has to answer, in milliseconds. */
const interval = 1000;

const health = new URL('healthz', globalThis.document?.baseURI ?? 'http://localhost/');

/** look asks the server whether it is there; what a proxy answers for it does not count. */
export async function look(): Promise<void> {
  try {
    const { status } = await fetch(health, { cache: 'no-store', signal: AbortSignal.timeout(interval) });
    if ([502, 503, 504].includes(status) || !lost.value) return;
    lost.value = false;
    dispatchEvent(new Event('online')); // what waits to try again does so now
  } catch {
    // It is still away.
  }
}

/** noAnswer is called when a request got none. */
export async function noAnswer(): Promise<void> {
  if (lost.value) return;
  lost.value = true;
  while (lost.value) {
    await new Promise((resolve) => setTimeout(resolve, interval));
    if (lost.value) await look();
  }
}
