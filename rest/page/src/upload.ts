// A file on its way into a dataset.
import { local } from './a2a';
import { attemptsOf, base, call, path, Refusal, type Attempt, type Dataset } from './api';

interface Prepared {
  uploadId: string;
  key: string;
  presignedUrls: { url: string; size: number }[];
}

const parallel = 4;
const tries = 4;

/**
 * upload sends a file in parts, several at a time, and gives the id of the
 * ingestion. sent is called with how many bytes have gone.
 */
export async function upload(file: File, to: Dataset, sent: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  const at = path`upload/multipart/${to.owner}/${to.namespace}/${to.name}`;
  const { uploadId, key, presignedUrls } = await call<Prepared>('POST', `${at}/prepare`, { filename: file.name, size: file.size }, signal);
  const giveUp = new AbortController();
  signal.addEventListener('abort', () => giveUp.abort());
  try {
    const etags = await sendParts(file, presignedUrls, sent, giveUp.signal);
    const parts = etags.map((etag, i) => ({ partNumber: i + 1, etag }));
    return (await call<{ id: string }>('POST', `${at}/finish`, { uploadId, key, parts, name: file.name }, signal)).id;
  } catch (error) {
    giveUp.abort();
    await call('POST', `${at}/abort`, { uploadId, key }).catch(() => undefined); // it is removed in time anyway
    throw error;
  }
}

async function sendParts(file: File, urls: Prepared['presignedUrls'], sent: (bytes: number) => void, signal: AbortSignal): Promise<string[]> {
  const starts = urls.map((_, i) => urls.slice(0, i).reduce((sum, part) => sum + part.size, 0));
  const progress = urls.map(() => 0);
  const etags = urls.map(() => '');
  let next = 0;
  const work = async () => {
    while (next < urls.length) {
      const i = next++;
      const { url, size } = urls[i]!;
      const blob = file.slice(starts[i], starts[i]! + size);
      etags[i] = await sendPart(partAddress(url), blob, signal, (bytes) => {
        progress[i] = bytes;
        sent(progress.reduce((sum, n) => sum + n, 0));
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, urls.length) }, work));
  return etags;
}

/** partAddress keeps parts that come to this server at the page's origin; those for a bucket go there. */
const partAddress = (url: string): string => (new URL(url).pathname.endsWith('/api/v1/objects/parts') ? local(url, base.origin) : url);

async function sendPart(url: string, blob: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await put(url, blob, signal, sent);
    } catch (error) {
      const hopeless = error instanceof Refusal && !error.temporary;
      if (signal.aborted || hopeless || attempt === tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
    }
  }
}

/** put is by XMLHttpRequest, which tells how far it is. */
function put(url: string, blob: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (status: number, text: string) => reject(new Refusal(status, text));
    request.upload.onprogress = (event) => sent(Math.min(event.loaded, blob.size));
    request.onload = () => {
      if (request.status !== 200) return fail(request.status, `A part of the file was not taken (${request.status}). Try again.`);
      sent(blob.size);
      resolve(request.getResponseHeader('ETag') ?? '');
    };
    request.onerror = () => fail(0, 'The upload was cut off. Check that the server is running, then try again.');
    request.onabort = () => fail(0, 'The upload was stopped.');
    signal.addEventListener('abort', () => request.abort());
    request.open('PUT', url);
    request.send(blob);
  });
}

/** ingested waits for an ingestion to end, and gives how it did. */
export async function ingested(into: Dataset, id: string, signal: AbortSignal, now: (attempt: Attempt) => void): Promise<Attempt> {
  for (let wait = 200; ; wait = Math.min(wait * 1.5, 3000)) {
    const attempt = await attemptsOf(into, signal).then(
      (list) => list.find((each) => each.id === id),
      (error) => {
        if (error instanceof Refusal && error.temporary) return undefined;
        throw error;
      },
    );
    if (attempt) now(attempt);
    if (attempt?.status === 'completed' || attempt?.status === 'failed') return attempt;
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal.throwIfAborted();
  }
}
