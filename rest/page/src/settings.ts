// What the server tells the page about itself, as data in index.html.
export interface Settings {
  /** The identity provider's authorization endpoint; '' for none. */
  authURL: string;
  /** Whether the server signs browsers in at /auth/login. */
  signsIn: boolean;
  clientID: string;
  /** The claim of a token that names its user; '' for the usual ones. */
  usernameClaim: string;
}

function read(): Settings {
  const text = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="parley"]')?.content;
  return { authURL: '', signsIn: false, clientID: 'parley', usernameClaim: '', ...JSON.parse(text || '{}') };
}

export const settings = read();
