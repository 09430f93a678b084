import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

/** Storage as a browser has it. */
function storage(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
}

const jwt = (sub: string) => ['e30', btoa(JSON.stringify({ sub })).replace(/=+$/, ''), 'x'].join('.');

/** The page at an address, with nobody signed in. */
async function page(hash: string) {
  const location = { pathname: '/', search: '', hash };
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { replaceState: (_: unknown, __: string, address: string) => (location.hash = address.slice(1)) });
  const listeners: (() => void)[] = [];
  vi.stubGlobal('addEventListener', (_: string, listener: () => void) => listeners.push(listener));
  const [session, place, store, ratings] = await Promise.all([import('./session'), import('./place'), import('./store'), import('./ratings')]);
  place.listen(session.takeFragment);
  const open = (hash: string) => {
    location.hash = hash;
    for (const listener of listeners) listener();
  };
  return { ...session, ...store, ...ratings, place: place.place, address: () => location.hash, open };
}

/** Requests that are answered when a test says so. */
function held() {
  const requests: { path: string; token: string; answer: (body: unknown, status?: number) => Promise<void> }[] = [];
  vi.stubGlobal('fetch', (address: URL, init: RequestInit) => new Promise<Response>((resolve) => {
    const answer = async (body: unknown, status = 200) => {
      resolve(new Response(JSON.stringify(body), { status }));
      for (let i = 0; i < 20; i++) await Promise.resolve();
      await new Promise((done) => setTimeout(done));
    };
    requests.push({ path: new URL(address).pathname, token: new Headers(init.headers).get('Authorization')!, answer });
  }));
  return requests;
}

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('sessionStorage', storage());
  vi.stubGlobal('localStorage', storage());
});
afterEach(() => vi.unstubAllGlobals());

describe('a link with a token', () => {
  test('signs in who is not, and leaves no token in the address', async () => {
    const p = await page(`#token=${jwt('alice')}`);
    expect([p.user.value, p.address()]).toEqual(['alice', '']);
  });
  test('names the user as the server does', async () => {
    const p = await page('');
    expect(p.usernameOf(jwt('Ann'), '')).toBe('ann');
    const claims = new TextEncoder().encode(JSON.stringify({ sub: 'Jose\u0301' }));
    expect(p.usernameOf(`e30.${btoa(String.fromCharCode(...claims))}.x`, '')).toBe('jos\u00e9');
  });
  test('signs in where the page is open', async () => {
    const p = await page('#/bob/garden');
    p.open(`#token=${jwt('alice')}`);
    expect([p.user.value, p.address(), p.place.value]).toEqual(['alice', '', undefined]);
  });
  test('asks who is signed in', async () => {
    const p = await page('#/alice/shop');
    p.signIn(jwt('alice'));
    p.open(`#token=${jwt('mallory')}`);
    expect([p.user.value, p.offered.value, p.address(), p.place.value?.namespace]).toEqual(['alice', jwt('mallory'), '#/alice/shop', 'shop']);
    p.accept();
    expect([p.user.value, p.offered.value, p.address()]).toEqual(['mallory', '', '']);
  });
  test('changes nothing when it is the same', async () => {
    const p = await page('#/alice/shop');
    p.signIn(jwt('alice'));
    p.open(`#token=${jwt('alice')}`);
    expect([p.offered.value, p.address()]).toEqual(['', '#/alice/shop']);
  });
});

test('no link signs anybody out', async () => {
  const p = await page('#/alice/shop');
  p.signIn(jwt('alice'));
  for (const wrong of ['#error=x', '#error=x&state=y', `#access_token=${jwt('mallory')}&state=y`, '#token=', '#token=%00']) {
    p.open(wrong);
    p.offered.value = '';
    expect([wrong, p.user.value, p.address()]).toEqual([wrong, 'alice', '#/alice/shop']);
  }
});

describe('what comes after signing out', () => {
  test('is not shown to the next user', async () => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice'));
    const late = [...requests];
    expect(late.map((r) => r.path.split('/').at(-1)).sort()).toEqual(['conversations', 'datasets', 'models', 'namespaces']);
    p.signOut();
    p.signIn(jwt('bob'));
    for (const request of late) await request.answer(request.path.endsWith('conversations') ? { conversations: [{ id: 'x' }] } : [{ owner: 'alice', name: 'secret' }]);
    expect([p.namespaces.value, p.datasets.value, p.conversations.value, p.problem.value]).toEqual([undefined, undefined, undefined, '']);
  });
  test('does not sign the next user out', async () => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice'));
    const late = [...requests];
    p.signOut();
    p.signIn(jwt('bob'));
    for (const request of late) await request.answer({}, 401);
    expect([p.user.value, p.notice.value, p.problem.value]).toEqual(['bob', '', '']);
    await requests.at(-1)!.answer({}, 401);
    expect(p.user.value).toBe('');
  });
  test('has no conversation in it', async () => {
    const requests = held();
    const conversation = '#/alice/shop/11111111-1111-4111-8111-111111111111';
    const p = await page(conversation);
    p.watch();
    p.signIn(jwt('alice'));
    const late = [...requests];
    p.signOut();
    p.signIn(jwt('bob'));
    for (const request of late) if (request.path.endsWith('a2a')) await request.answer([]);
    expect([p.turns.value, p.problem.value]).toEqual([undefined, '']);
  });
  test('has no ratings in it', async () => {
    const p = await page('#/alice/shop');
    p.signIn(jwt('alice'));
    p.remember('run', { thumbsUp: false, comment: 'private' });
    p.signOut();
    expect([p.ratingOf('run'), localStorage.getItem('parley.ratings')]).toEqual([undefined, null]);
  });
});

describe('a question that the server has not taken', () => {
  const asked = async () => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice'));
    p.ask('assistant', 'Why?');
    return { p, request: requests.find((r) => r.path.endsWith('a2a'))! };
  };
  test('is kept when the token has expired, for its user', async () => {
    const { p, request } = await asked();
    await request.answer({}, 401);
    expect([p.user.value, p.draft.value]).toEqual(['', { user: 'alice', text: 'Why?' }]);
  });
  test('can be canceled', async () => {
    const { p } = await asked();
    const turn = p.turns.value![0]!;
    await turn.cancel();
    expect([turn.over.value, turn.lost.value]).toEqual([true, false]);
  });
});
