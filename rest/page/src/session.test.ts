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

const jwt = (sub: string, more: object = {}) => ['e30', btoa(JSON.stringify({ sub, ...more })).replace(/=+$/, ''), 'x'].join('.');

/** The page at an address, with nobody signed in. */
async function page(hash: string) {
  const location = { pathname: '/', search: '', hash };
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { replaceState: (_: unknown, __: string, address: string) => (location.hash = /#.*/.exec(address)?.[0] ?? '') });
  const listeners: (() => void)[] = [];
  vi.stubGlobal('addEventListener', (_: string, listener: () => void) => listeners.push(listener));
  const [session, place, store, ratings, rights] = await Promise.all([import('./session'), import('./place'), import('./store'), import('./ratings'), import('./rights')]);
  place.listen(session.takeFragment);
  const open = (hash: string) => {
    location.hash = hash;
    for (const listener of listeners) listener();
  };
  return { ...session, ...store, ...ratings, ...rights, place: place.place, address: () => location.hash, open };
}

/** Requests that are answered when a test says so. */
function held() {
  const requests: { path: string; token: string; body: string; answer: (body: unknown, status?: number) => Promise<void> }[] = [];
  vi.stubGlobal('fetch', (address: URL, init: RequestInit) => new Promise<Response>((resolve) => {
    const answer = async (body: unknown, status = 200) => {
      resolve(new Response(JSON.stringify(body), { status }));
      for (let i = 0; i < 20; i++) await Promise.resolve();
      await new Promise((done) => setTimeout(done));
    };
    requests.push({ path: new URL(address).pathname, token: new Headers(init.headers).get('Authorization')!, body: String(init.body), answer });
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

describe('the session of a cookie', () => {
  const withProvider = async (answers: Record<string, unknown>, hash = '#/carol/shop', otherwise = 401) => {
    const requests: { path: string; headers: Headers; signal?: AbortSignal | null }[] = [];
    vi.stubGlobal('document', { baseURI: 'http://localhost/', querySelector: () => ({ content: '{"signsIn":true}' }) });
    vi.stubGlobal('fetch', async (address: URL, init: RequestInit) => {
      const { pathname } = new URL(address);
      requests.push({ path: pathname, headers: new Headers(init.headers), signal: init.signal });
      const status = pathname in answers ? 200 : otherwise;
      return new Response(JSON.stringify(answers[pathname] ?? {}), { status });
    });
    const p = await page(hash);
    await p.restore();
    return { p, requests };
  };
  test('signs in without a token, and is named by a header', async () => {
    const { p, requests } = await withProvider({ '/auth/session': { username: 'carol' } });
    expect([p.user.value, sessionStorage.getItem('parley.token')]).toEqual(['carol', null]);
    const { send } = await import('./api');
    await send('http://localhost/api/v1/x').catch(() => undefined);
    expect(requests.map((r) => [r.path, r.headers.get('X-Requested-With'), r.headers.get('X-Parley-User'), r.headers.get('Authorization')])).toEqual([
      ['/auth/session', 'parley', '', null],
      ['/api/v1/x', 'parley', 'carol', null],
    ]);
    expect([p.user.value, p.notice.value]).toEqual(['', 'Your session has ended. Sign in again.']);
  });
  test('ends at the server and at the provider', async () => {
    const { p, requests } = await withProvider({ '/auth/session': { username: 'carol' }, '/auth/logout': { location: 'https://id.example/logout' } });
    const assign = vi.fn();
    Object.assign(location, { assign });
    await p.endSession();
    expect([p.user.value, requests.at(-1)!.path, assign.mock.calls]).toEqual(['', '/auth/logout', [['https://id.example/logout']]]);
  });
  test('is waited for with a limit, and a failure is shown', async () => {
    const { p, requests } = await withProvider({}, '', 503);
    expect([p.user.value, p.notice.value !== '', requests[0]!.signal instanceof AbortSignal]).toEqual(['', true, true]);
  });
  test('does not begin with a link', async () => {
    const { p } = await withProvider({}, '#token=cookie:mallory');
    expect([p.user.value, p.token.value]).toEqual(['', '']);
    p.open('#token=cookie:mallory');
    expect([p.user.value, p.token.value, p.notice.value !== '']).toEqual(['', '', true]);
  });
  test('stays when the server cannot end it', async () => {
    const { p } = await withProvider({ '/auth/session': { username: 'carol' } });
    await p.endSession();
    expect([p.user.value, p.notice.value !== '']).toEqual(['carol', true]);
  });
  test('begins at the server, which sends the browser back', async () => {
    const { p } = await withProvider({ '/auth/session': { username: null } });
    const assign = vi.fn();
    Object.assign(location, { assign });
    p.toProvider();
    expect([p.user.value, assign.mock.calls]).toEqual(['', [['auth/login?return_to=%23%2Fcarol%2Fshop']]]);
    p.open('#sign_in=denied');
    expect([p.notice.value, p.address()]).toEqual(['The identity provider did not sign you in.', '']);
    p.open('#sign_in=<b>');
    expect(p.notice.value).toContain('did not succeed');
  });
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

describe('a token', () => {
  const signedIn = async (answer: unknown, status = 200) => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice', { iss: 'parley/user-token', jti: 'the-id' }));
    expect([p.unrestricted.value, p.mayWrite.value, p.mayAdd.value]).toEqual([false, false, false]);
    await requests.find((r) => r.path.endsWith('/user/tokens/the-id/permissions'))!.answer(answer, status);
    return p;
  };
  test('of another issuer may do what its user may', async () => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice'));
    expect(requests.some((r) => r.path.includes('/user/tokens/'))).toBe(false);
    expect([p.unrestricted.value, p.mayWrite.value, p.mayAdd.value, p.mayAddTo('any')]).toEqual([true, true, true, true]);
    p.signOut();
    expect(p.rights.value).toBeUndefined();
  });
  test('that is not restricted may, too', async () => {
    const p = await signedIn({ restricted: false, access: 'write', permissions: [] });
    expect([p.unrestricted.value, p.mayAddTo('any')]).toEqual([true, true]);
  });
  test('that reads changes nothing', async () => {
    const p = await signedIn({ restricted: true, access: 'read', permissions: [{ username: 'alice', namespace: 'shop' }] });
    expect([p.unrestricted.value, p.mayWrite.value, p.mayAdd.value, p.mayAddTo('shop')]).toEqual([false, false, false, false]);
  });
  test('adds to its user’s namespaces that it covers', async () => {
    const permissions = [{ username: 'alice', namespace: 'shop' }, { username: 'alice', namespace: 'lab', dataset: 'plants' }, { username: 'bob', namespace: 'garden' }];
    const p = await signedIn({ restricted: true, access: 'write', permissions });
    expect([p.unrestricted.value, p.mayWrite.value, p.mayAdd.value]).toEqual([false, true, true]);
    expect(['SHOP', 'lab', 'garden'].map(p.mayAddTo)).toEqual([true, false, false]);
  });
  test('that may not even read what it covers is taken for one that reads', async () => {
    const p = await signedIn({}, 403);
    expect([p.rights.value, p.problem.value]).toEqual([p.leastRights, '']);
  });
});

test('the datasets of a namespace come with their metadata, at once as far as it fits', async () => {
  const requests = held();
  const p = await page('#/alice/shop');
  p.watch();
  p.signIn(jwt('alice'));
  const metadata = { columns: [], rowCount: 3, access: 'owner' };
  const list = [{ owner: 'alice', namespace: 'shop', name: 'orders', metadata }, { owner: 'alice', namespace: 'shop', name: 'wide' }];
  await requests.find((r) => r.path.endsWith('/datasets'))!.answer(list);
  const single = requests.filter((r) => r.path.includes('/data/'));
  expect(single.map((r) => r.path.split('/').at(-1))).toEqual(['wide']);
  await single[0]!.answer({ metadata: { ...metadata, rowCount: 4 } });
  expect(p.datasets.value?.map((d) => d.metadata?.rowCount)).toEqual([3, 4]);
  const [orders] = p.datasets.value!;
  void p.readDatasets(true);
  await requests.findLast((r) => r.path.endsWith('/datasets'))!.answer([{ ...list[0], metadata: { ...metadata } }]);
  expect(p.datasets.value?.map((d) => d.metadata)).toEqual([orders!.metadata]);
  expect(p.datasets.value?.[0]?.metadata).toBe(orders!.metadata); // so that what is on the screen stays
});

describe('a question that the server has not taken', () => {
  const asked = async () => {
    const requests = held();
    const p = await page('#/alice/shop');
    p.watch();
    p.signIn(jwt('alice'));
    p.ask('assistant', 'Why?');
    return { p, requests, request: requests.find((r) => r.path.endsWith('a2a'))! };
  };
  test('is kept when the token has expired, for its user', async () => {
    const { p, request } = await asked();
    await request.answer({}, 401);
    expect([p.user.value, p.draft.value]).toEqual(['', { user: 'alice', text: 'Why?' }]);
  });
  test('leads to the start page when its user has signed in again', async () => {
    const { p, request, requests } = await asked();
    p.open(p.address()); // as the browser tells
    expect(p.place.value?.view).toBe('conversation');
    await request.answer({}, 401);
    let done = requests.length;
    p.signIn(jwt('alice'));
    for (; done < requests.length; done++) {
      const { path, body, answer } = requests[done]!;
      const url = `http://localhost${path.replace('/card', '')}`;
      if (path.endsWith('/a2a')) await answer(['assistant', 'nl2ql'].map((name) => ({ name, agentCard: `${url}/${name}/card` })));
      else if (path.endsWith('/card')) await answer({ name: 'agent', capabilities: {}, skills: [], supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] });
      else if (path.includes('/a2a/')) await answer({ jsonrpc: '2.0', id: JSON.parse(body).id, result: { tasks: [], nextPageToken: '', pageSize: 20, totalSize: 0 } });
    }
    expect([p.place.value?.view, p.problem.value, p.draft.value.text]).toEqual(['new', '', 'Why?']);
  });
  test('can be canceled', async () => {
    const { p } = await asked();
    const turn = p.turns.value![0]!;
    await turn.cancel();
    expect([turn.over.value, turn.lost.value]).toEqual([true, false]);
  });
});
