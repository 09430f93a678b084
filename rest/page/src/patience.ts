// Trying again what may work later.
import { Refusal } from './api';

/** How often in a row something may get nowhere. */
const tries = 9;

/**
 * patiently tries until it works, will not, or has got nowhere several times in a
 * row. What is tried calls further when it has got on.
 */
export async function patiently<T>(signal: AbortSignal, what: (further: () => void) => Promise<T>): Promise<T> {
  let failures = 0;
  for (;;) {
    let asked = 0;
    try {
      return await what(() => (failures = 0));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Refusal) || !error.temporary || ++failures === tries) throw error;
      asked = error.after;
    }
    await pause(250 * 2 ** failures, signal, asked);
    signal.throwIfAborted();
  }
}

/** The longest that is waited between two tries, in milliseconds. */
const longest = 8000;

/**
 * pause waits for so many milliseconds, or somewhat less, but at least for as many as the server asked for; no longer when
 * the network comes back or it is aborted.
 */
export function pause(milliseconds: number, signal: AbortSignal, asked = 0): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(Math.min(longest, milliseconds) * (0.5 + Math.random() / 2), asked * (1 + Math.random() / 4)));
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
