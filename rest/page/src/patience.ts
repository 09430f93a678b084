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
    try {
      return await what(() => (failures = 0));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Refusal) || !error.temporary || ++failures === tries) throw error;
    }
    await pause(250 * 2 ** failures, signal);
    signal.throwIfAborted();
  }
}

/** The longest that is waited between two tries, in milliseconds. */
const longest = 8000;

/** pause waits for so many milliseconds, or somewhat less; no longer when the network comes back or it is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(longest, milliseconds) * (0.5 + Math.random() / 2));
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
