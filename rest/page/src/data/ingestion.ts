// What becomes of a file that was sent.
import { attemptsOf, type Attempt, type Dataset } from '../api';
import { patiently, pause } from '../patience';

const pageSize = 100;

/** The most pages of ingestions that one is looked for in, the latest first. */
const mostPages = 50;

/** ingested waits for an ingestion to end, and gives how it did. now is called with how far it is. */
export async function ingested(into: Dataset, id: string, signal: AbortSignal, now: (attempt: Attempt) => void): Promise<Attempt> {
  for (let wait = 200; ; wait = Math.min(wait * 1.5, 3000)) {
    const attempt = await patiently(signal, () => find(into, id, signal));
    if (!attempt) throw new Error('The file has come in, but the dataset is gone: somebody has deleted it meanwhile.');
    now(attempt);
    if (attempt.status === 'completed' || attempt.status === 'failed') return attempt;
    await pause(wait, signal);
    signal.throwIfAborted();
  }
}

async function find(into: Dataset, id: string, signal: AbortSignal): Promise<Attempt | undefined> {
  let before: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const list = await attemptsOf(into, pageSize, before, signal);
    const found = list.find((each) => each.id === id);
    if (found || list.length < pageSize) return found;
    before = list.at(-1)!.attributes.createdAt;
  }
  return undefined;
}
