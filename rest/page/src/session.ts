// Who uses the page: a token, kept for as long as the tab is open, or the session of a cookie
// that the server set, which scripts cannot read.
import { computed, signal } from '@preact/signals';
import { uuid } from './names';
import { forgetPlace, leave } from './place';
import { forgetRatings } from './ratings';
import { settings } from './settings';

const tokenKey = 'parley.token';
const stateKey = 'parley.state';
const backKey = 'parley.back';

/** What stands in place of a token for the session of a cookie, before the name of its user. */
const cookieMark = 'cookie:';

/** token is the token, or who is signed in by a cookie; '' for nobody. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? '');

/** credentials are the headers that show a server who uses the page. */
export const credentials = (used: string): Record<string, string> =>
  !used.startsWith(cookieMark)
    ? { Authorization: `Bearer ${used}` }
    // Another tab may have signed in another user: the server then refuses.
    : { 'X-Requested-With': 'parley', 'X-Parley-User': encodeURIComponent(used.slice(cookieMark.length)) };

/** notice says why one has to sign in again; '' when there is no reason. */
export const notice = signal('');

/** user is whom the token speaks for, as far as it says so itself. */
export const user = computed(() =>
  token.value.startsWith(cookieMark) ? token.value.slice(cookieMark.length) : usernameOf(token.value, settings.usernameClaim));

export function usernameOf(jwt: string, claim: string): string {
  const claims = claimsOf(jwt);
  const name = isOwn(claims) ? claims.sub : claim ? claims[claim] : (claims.preferred_username ?? claims.sub);
  return typeof name === 'string' ? name.trim().toLowerCase().normalize('NFC') : '';
}

/** ownID is the id of a token that a user has made, which can be restricted; '' of another one. */
export function ownID(jwt: string): string {
  const claims = claimsOf(jwt);
  return isOwn(claims) && typeof claims.jti === 'string' ? claims.jti : '';
}

const isOwn = (claims: Record<string, unknown>): boolean => claims.iss === 'parley/user-token';

/** claimsOf gives what a token says of itself, as far as it can be read. */
function claimsOf(jwt: string): Record<string, unknown> {
  try {
    const payload = jwt.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(payload), (c) => c.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** offered is a token that a link brought while somebody was signed in; '' for none. */
export const offered = signal('');

/** accept signs in by the token that is offered. */
export function accept(): void {
  const value = offered.value;
  leave();
  signOut();
  signIn(value);
}

export function signIn(text: string): void {
  // People copy whole headers.
  const value = text.trim().replace(/^Bearer\s+/i, '');
  if (!/^[\x21-\x7e]+$/.test(value) || value.startsWith(cookieMark)) {
    notice.value = 'That is not a token. Paste the line that “parley token” prints.';
    return;
  }
  sessionStorage.setItem(tokenKey, value);
  notice.value = '';
  token.value = value;
}

/** signOut forgets the token, and what this browser remembers of its user. */
export function signOut(why = ''): void {
  sessionStorage.removeItem(tokenKey);
  forgetRatings();
  forgetPlace();
  notice.value = why;
  offered.value = '';
  token.value = '';
}

/** refused is called when the server does not take a token. */
export function refused(used: string): void {
  if (!used || used !== token.value) return;
  signOut(used.startsWith(cookieMark) ? 'Your session has ended. Sign in again.' : 'The server does not accept this token: it is wrong, or has expired. Sign in again.');
}

const auth = (method: string, path: string, used: string, signal?: AbortSignal) =>
  fetch(new URL(`auth/${path}`, document.baseURI), { method, headers: credentials(used), signal });

/** How long the page waits for the server before it shows the sign-in, in milliseconds. */
const restoreTimeout = 5000;

/** restore signs in by the cookie of a session, if there is one. */
export async function restore(): Promise<void> {
  if (token.value || !settings.signsIn) return;
  try {
    const response = await auth('GET', 'session', cookieMark, AbortSignal.timeout(restoreTimeout));
    if (!response.ok) throw new Error(response.statusText);
    const { username } = await response.json();
    if (username) token.value = cookieMark + username;
  } catch {
    notice.value = 'The server cannot tell whether you are signed in. Load the page again.';
  }
}

/** endSession signs out; of the session of a cookie also at the server and at the identity provider. */
export async function endSession(): Promise<void> {
  const used = token.value;
  signOut();
  if (!used.startsWith(cookieMark)) return;
  try {
    const response = await auth('POST', 'logout', used);
    if (!response.ok) throw new Error(response.statusText);
    const { location: next } = await response.json();
    if (next) location.assign(next);
  } catch {
    notice.value = 'The server cannot be reached, so your session has not ended. Try again.';
    token.value = used;
  }
}

/** toProvider leaves for the identity provider, which sends the browser back here. */
export function toProvider(): void {
  if (settings.signsIn) return location.assign(`auth/login?return_to=${encodeURIComponent(location.hash)}`);
  const state = uuid();
  sessionStorage.setItem(stateKey, state);
  sessionStorage.setItem(backKey, location.hash);
  const address = new URL(settings.authURL);
  const params = {
    response_type: 'token',
    client_id: settings.clientID,
    redirect_uri: location.origin + location.pathname,
    scope: 'openid',
    state,
  };
  for (const [name, value] of Object.entries(params)) address.searchParams.set(name, value);
  location.assign(address);
}

/**
 * takeFragment signs in by what the address brings, a token or an identity
 * provider's answer, and removes it from there. It never ends a session that there
 * is: anybody can write a link.
 */
export function takeFragment(before: string): void {
  if (location.hash === '' || location.hash.startsWith('#/')) return;
  const params = new URLSearchParams(location.hash.slice(1));
  const given = params.get('token');
  const failed = params.get('sign_in');
  if (failed !== null) {
    clean(token.value ? before : '');
    if (!token.value) notice.value = problems[failed] ?? problems.failed!;
    return;
  }
  if (params.has('access_token') || params.has('error')) return takeAnswer(params, before);
  if (given === null) return;
  clean(token.value ? before : '');
  if (!token.value) signIn(given);
  else if (given && given !== token.value) offered.value = given;
}

/** What the server says of a sign-in that failed. */
const problems: Record<string, string> = {
  failed: 'The sign-in did not succeed, or took too long. Sign in again.',
  denied: 'The identity provider did not sign you in.',
  unavailable: 'The identity provider cannot be reached. Try again later.',
};

function takeAnswer(params: URLSearchParams, before: string): void {
  const state = sessionStorage.getItem(stateKey);
  clean(before || (sessionStorage.getItem(backKey) ?? ''));
  sessionStorage.removeItem(stateKey);
  sessionStorage.removeItem(backKey);
  if (token.value) return;
  const problem = params.get('error');
  if (!state || params.get('state') !== state) {
    notice.value = 'This sign-in was not begun here, so it was not used. Sign in again.';
  } else if (problem !== null) {
    notice.value = `The identity provider did not sign you in: ${(params.get('error_description') || problem).slice(0, 300)}`;
  } else {
    signIn(params.get('access_token') ?? '');
  }
}

/** clean puts a place into the address. */
const clean = (hash: string) => history.replaceState(null, '', location.pathname + location.search + hash);
