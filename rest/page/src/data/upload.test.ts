import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Attempt } from '../api';

const into = { owner: 'alice', namespace: 'shop', name: 'orders' };

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers();
  for (const name of ['sessionStorage', 'localStorage']) vi.stubGlobal(name, { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('removeEventListener', () => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A signal that tells how many listen to it. */
function counted() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = ((...args: Parameters<typeof add>) => (listeners++, add(...args))) as typeof add;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => (listeners--, remove(...args))) as typeof remove;
  return { controller, signal, listeners: () => listeners };
}

/** A server that has a file of some parts sent to it. Answers to a part are what status says, 0 for none. */
function server(sizes: number[], status: (url: string) => number) {
  const etags: (string | undefined)[] = sizes.map(() => undefined);
  const seen = { puts: [] as string[], ingestions: new Set<string>(), calls: [] as string[] };
  let round = 0;
  let completed = false;
  const lost = new Set<string>();
  const answer = (at: string, body: any): unknown => {
    if (at.endsWith('/namespaces')) return [];
    if (at.endsWith('/prepare')) return { sessionId: 's', files: [{ fileId: 'f' }] };
    if (at.endsWith('/parts')) {
      round++;
      const parts = sizes.map((partSize, i) => ({ partNumber: i + 1, partSize, ...(etags[i] ? { etag: etags[i] } : { url: `https://bucket.example/${i}?round=${round}` }) }));
      return { uploadId: 'u', key: 'k', fileStatus: completed ? 'completed' : 'preparing', parts: completed ? [] : parts };
    }
    if (at.endsWith('/finish')) {
      expect(body.parts.map((p: { etag: string }) => p.etag)).toEqual(sizes.map((_, i) => `e${i}`));
      completed = true;
    }
    if (at.endsWith('/ingest')) seen.ingestions.add(body.id);
    return {};
  };
  vi.stubGlobal('fetch', async (address: URL, init: RequestInit) => {
    const at = new URL(address).pathname.replace('/api/v1/', '');
    seen.calls.push(`${init.method} ${at}`);
    const body = answer(at, init.body && JSON.parse(init.body as string));
    if (lost.delete(at.split('/').at(-1)!)) throw new TypeError('the answer is lost');
    return new Response(JSON.stringify(body), { status: at.startsWith('ingest/new') ? 409 : 200 });
  });
  vi.stubGlobal('XMLHttpRequest', class {
    upload: { onprogress?: (event: { loaded: number }) => void } = {};
    onload?: () => void;
    onerror?: () => void;
    onabort?: () => void;
    status = 0;
    url = '';
    open(_: string, url: string) {
      this.url = url;
    }
    send() {
      seen.puts.push(this.url);
      queueMicrotask(() => {
        this.status = status(this.url);
        if (this.status === 200) etags[Number(new URL(this.url).pathname.slice(1))] = this.etag();
        if (this.status) this.onload?.();
        else this.onerror?.();
      });
    }
    abort() {
      this.onabort?.();
    }
    etag() {
      return `e${new URL(this.url).pathname.slice(1)}`;
    }
    getResponseHeader(name: string) {
      if (name === 'ETag') return this.etag();
      return this.status === 429 ? '30' : null;
    }
  });
  return { ...seen, lost };
}

const file = new File(['x'.repeat(60)], 'orders.csv');
const sizes = [10, 10, 10, 10, 10, 10];

describe('an upload', () => {
  test('asks for new addresses when those it has hold no more, and sends no part twice', async () => {
    const s = server(sizes, (url) => (/[45]\?round=1/.test(url) ? 403 : 200));
    const { signal, listeners } = counted();
    const { upload } = await import('./upload');
    const sent: number[] = [];
    const done = upload(file, (bytes) => sent.push(bytes), signal);
    await vi.runAllTimersAsync();
    await done;
    expect(s.puts.filter((url) => url.includes('round=2')).every((url) => /[45]\?/.test(url))).toBe(true);
    expect(sent.at(-1)).toBe(60);
    expect(listeners()).toBe(0);
  });
  test('outlives answers that are lost, and is ingested once', async () => {
    const s = server(sizes, () => 200);
    for (const call of ['prepare', 'parts', 'finish', 'ingest']) s.lost.add(call);
    const { ingest, make, upload } = await import('./upload');
    const { signal } = new AbortController();
    const done = make(into, signal).then(() => upload(file, () => {}, signal)).then((sent) => ingest(sent, into, 'append', {}, signal));
    await vi.runAllTimersAsync();
    expect([...s.ingestions]).toEqual([await done]);
    expect(s.puts.length).toBe(sizes.length);
    expect(s.calls.filter((call) => call.endsWith('/abort'))).toEqual([]);
  });
  test('waits as long as the server asks for when too much is under way', async () => {
    const s = server(sizes, (url) => (url.includes('round=1') ? 429 : 200));
    const { upload } = await import('./upload');
    const done = upload(file, () => {}, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(s.puts.every((url) => url.includes('round=1'))).toBe(true);
    await vi.runAllTimersAsync();
    expect(await done).toEqual({ sessionId: 's', fileId: 'f' });
  });
  test('gives up when nothing comes in', async () => {
    const s = server(sizes, () => 0);
    const { upload } = await import('./upload');
    const done = expect(upload(file, () => {}, new AbortController().signal)).rejects.toThrow('cut off');
    await vi.runAllTimersAsync();
    await done;
    expect(s.calls.at(-1)).toBe('POST file-upload/s/abort');
  });
  test('sends nothing more once it is stopped', async () => {
    const s = server(sizes, () => 0);
    const { controller, signal, listeners } = counted();
    const { upload } = await import('./upload');
    const done = expect(upload(file, () => {}, signal)).rejects.toThrow('aborted');
    await vi.advanceTimersByTimeAsync(1); // it waits to try again
    const before = s.puts.length;
    expect(before).toBeGreaterThan(0);
    controller.abort();
    await vi.runAllTimersAsync();
    await done;
    expect([s.puts.length, listeners()]).toEqual([before, 0]);
  });
});

describe('an ingestion', () => {
  const attempts = (list: Partial<Attempt>[]) => vi.stubGlobal('fetch', async (address: URL) => {
    const { searchParams } = new URL(address);
    const before = searchParams.get('beforeCreatedAt') ?? '9999';
    const data = list.filter((each) => each.attributes!.createdAt < before).slice(0, Number(searchParams.get('pageSize') ?? 25));
    return new Response(JSON.stringify({ data }));
  });
  const many = (n: number) => Array.from({ length: n }, (_, i) => ({ id: `i${i}`, status: 'completed' as const, attributes: { createdAt: String(9000 - i) } }));

  test('is found behind many newer ones', async () => {
    attempts(many(350));
    const { ingested } = await import('./ingestion');
    const done = ingested(into, 'i340', new AbortController().signal, () => {});
    await vi.runAllTimersAsync();
    expect((await done).id).toBe('i340');
  });
  test('is not waited for when there is none', async () => {
    attempts(many(200));
    const { ingested } = await import('./ingestion');
    const done = expect(ingested(into, 'none', new AbortController().signal, () => {})).rejects.toThrow('gone');
    await vi.runAllTimersAsync();
    await done;
  });
});

test('files that wait are named', async () => {
  const { waitingWords } = await import('./importing');
  const next = [new File([], 'b.csv'), new File([], 'c.csv')];
  expect(waitingWords({ next, total: 3 })).toBe('File 1 of 3. Next: b.csv.');
  expect(waitingWords({ next: [], total: 3 })).toBe('File 3 of 3.');
  expect(waitingWords({ next: [], total: 1 })).toBe('');
  expect(waitingWords({})).toBe('');
});
