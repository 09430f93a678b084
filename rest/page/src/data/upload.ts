// Files on their way into datasets.
import { local } from '../a2a';
import { after, base, call, datasetsOf, metadataOf, namespaces, path, pathOf, remove, Refusal, type Dataset, type Mode, type Options, type Sent } from '../api';
import { uuid } from '../names';
import { patiently } from '../patience';

/** A part that the server has, with its etag, or one that it lacks, with the address for it. */
interface Part {
  partNumber: number;
  partSize: number;
  etag?: string;
  url?: string;
}

interface Parts {
  uploadId: string;
  key: string;
  fileStatus: string;
  parts: Part[];
}

const parallel = 4;

/** How long a part may stand still, in milliseconds. */
const stall = 120_000;

/**
 * upload sends a file in parts, several at a time. What fails is tried again. sent is
 * called with how many bytes have gone.
 */
export async function upload(file: File, sent: (bytes: number) => void, signal: AbortSignal): Promise<Sent> {
  const filesToUpload = [{ filename: file.name, size: file.size }];
  const { sessionId, files } = await patiently(signal, () =>
    call<{ sessionId: string; files: { fileId: string }[] }>('POST', 'file-upload/prepare', { filesToUpload }, signal));
  const { fileId } = files[0]!;
  try {
    await patiently(signal, (further) => sendMissing(file, path`file-upload/${sessionId}/files/${fileId}`, sent, further, signal));
  } catch (error) {
    void call('POST', path`file-upload/${sessionId}/abort`).catch(() => undefined); // it is removed in time anyway
    throw error;
  }
  return { sessionId, fileId };
}

/** ingest starts the ingestion of a file into a dataset that there is, and gives its id. */
export async function ingest(file: Sent, to: Dataset, mode: Mode, options: Options, signal: AbortSignal): Promise<string> {
  const id = uuid(); // chosen here, so that it is begun once however often it is asked for
  await patiently(signal, () => call('POST', `${pathOf(to)}/ingest`, { id, files: [file], mode, options }, signal));
  return id;
}

/** make makes a dataset of one's own, unless there is one, and says whether it did. */
export async function make(to: Dataset, signal: AbortSignal): Promise<boolean> {
  if (await patiently(signal, () => exists(to))) return false;
  try {
    await patiently(signal, () => call('POST', path`ingest/new/${to.namespace}/${to.name}`, {}, signal));
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.status === 409) return false; // it was made just now
    throw error;
  }
}

/** unmake removes a dataset that was made for a file which is not in it, unless something else is. */
export async function unmake(made: Dataset): Promise<void> {
  try {
    if ((await metadataOf(made)).rowCount === 0) await remove(made);
  } catch {
    // It stays, empty, and can be deleted by hand.
  }
}

async function exists({ owner, namespace, name }: Dataset): Promise<boolean> {
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
  const found = (await namespaces()).find((each) => each.owner === owner && same(each.name, namespace));
  return found !== undefined && (await datasetsOf(found)).some((each) => same(each.name, name));
}

/** sendMissing sends what the server lacks of a file, and has it made whole. It calls further when a part came in. */
async function sendMissing(file: File, at: string, sent: (bytes: number) => void, further: () => void, signal: AbortSignal): Promise<void> {
  const { uploadId, key, fileStatus, parts } = await call<Parts>('GET', `${at}/parts`, undefined, signal);
  if (fileStatus === 'completed') return;
  const progress = parts.map((part) => (part.etag ? part.partSize : 0));
  let start = 0;
  const missing = parts.flatMap((part, i) => {
    const blob = file.slice(start, (start += part.partSize));
    const moved = (bytes: number) => {
      progress[i] = bytes;
      sent(progress.reduce((sum, n) => sum + n, 0));
    };
    return part.etag ? [] : [async () => {
      part.etag = await put(partAddress(part.url!), blob, signal, moved);
      further();
    }];
  });
  await several(missing);
  await call('POST', `${at}/finish`, { uploadId, key, parts: parts.map(({ partNumber, etag }) => ({ partNumber, etag })) }, signal);
}

/** several does work, some of it at a time. After a failure no more is begun, and what is under way is waited for. */
async function several(work: (() => Promise<void>)[]): Promise<void> {
  const queue = [...work];
  const hand = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      await next().catch((error) => {
        queue.length = 0;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: parallel }, hand));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** partAddress keeps parts that come to this server at the page's origin; those for a bucket go there. */
const partAddress = (url: string): string => (new URL(url).pathname.endsWith('/api/v1/objects/parts') ? local(url, base.origin) : url);

/** Stale is the answer of an address that is good no more. Asking for the parts gives another one. */
class Stale extends Refusal {
  override get temporary(): boolean {
    return true;
  }
}

/** put is by XMLHttpRequest, which tells how far it is. */
function put(url: string, blob: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<string> {
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  let timer: ReturnType<typeof setTimeout>;
  const moves = () => {
    clearTimeout(timer);
    timer = setTimeout(abort, stall);
  };
  const done = new Promise<string>((resolve, reject) => {
    request.upload.onprogress = (event) => {
      moves();
      sent(Math.min(event.loaded, blob.size));
    };
    request.onload = () => {
      if (request.status !== 200) return reject(refusal(request.status, after(request.getResponseHeader('Retry-After'))));
      sent(blob.size);
      resolve(request.getResponseHeader('ETag') ?? '');
    };
    request.onerror = () => reject(new Refusal(0, 'The upload was cut off. Check that the server is running, then try again.'));
    request.onabort = () => reject(signal.reason ?? new Refusal(0, 'The upload stands still. Check the network, then try again.'));
  });
  signal.throwIfAborted();
  signal.addEventListener('abort', abort);
  moves();
  request.open('PUT', url);
  request.send(blob);
  return done.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}

function refusal(status: number, after: number): Refusal {
  const words = `A part of the file was not taken (${status}). Try again.`;
  return status === 403 || status === 404 ? new Stale(status, words) : new Refusal(status, words, after);
}
