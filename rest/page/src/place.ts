// Where one is, which is what the address says after its '#':
//
//   #/owner/namespace                  a question to be asked
//   #/owner/namespace/data             the datasets
//   #/owner/namespace/data/dataset     one of them
//   #/owner/namespace/board            what is pinned there
//   #/owner/namespace/shared/id        an answer that somebody shared
//   #/owner/namespace/conversation-id  a conversation
import { computed, signal } from '@preact/signals';
import { isUUID } from './names';

export interface Place {
  owner: string;
  namespace: string;
  view: 'new' | 'data' | 'board' | 'shared' | 'conversation';
  /** The conversation's id, else ''. */
  conversation: string;
  /** The dataset's name, else ''. */
  dataset: string;
  /** The id of the answer that was shared. */
  shared?: string;
}

const lastKey = 'parley.namespace';

export function parse(hash: string): Place | undefined {
  const [root, ...parts] = hash.split('/');
  if (root !== '#' || parts.length < 2 || parts.length > 4) return undefined;
  let names: string[];
  try {
    names = parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const [owner, namespace, rest = '', dataset = ''] = names as [string, string, string?, string?];
  if (!owner || !namespace || names.some((name) => name === '.' || name === '..')) return undefined;
  if (names.length > 3 && rest === 'shared' && isUUID(dataset)) return { owner, namespace, view: rest, conversation: '', dataset: '', shared: dataset };
  if (names.length > 3 && rest !== 'data') return undefined;
  if (isUUID(rest)) return { owner, namespace, view: 'conversation', conversation: rest, dataset: '' };
  const view = rest || 'new';
  return view === 'new' || view === 'data' || view === 'board' ? { owner, namespace, view, conversation: '', dataset } : undefined;
}

export function hrefOf(owner: string, namespace: string, ...rest: string[]): string {
  return ['#', owner, namespace, ...rest.filter(Boolean)].map((part, i) => (i ? encodeURIComponent(part) : part)).join('/');
}

/** hrefOfDataset is the address of a dataset. */
export const hrefOfDataset = (d: { owner: string; namespace: string; name: string }): string => hrefOf(d.owner, d.namespace, 'data', d.name);

const hash = signal('');

export const place = computed(() => parse(hash.value));

/** astray says that the address is none of the page's. */
export const astray = computed(() => !place.value && hash.value.length > 1);

/** here is the namespace that one is in, as one text: it changes with the namespace alone. */
export const here = computed(() => (place.value ? `${place.value.owner}/${place.value.namespace}` : ''));

/**
 * listen follows the address. What it brings that is no place is for clean to take
 * out of it, which is told where one was.
 */
export function listen(clean: (before: string) => void): void {
  const take = () => {
    clean(hash.peek());
    hash.value = location.hash;
    if (here.value) localStorage.setItem(lastKey, here.value);
  };
  addEventListener('hashchange', take);
  take();
}

export function go(href: string): void {
  location.hash = href;
}

/** settle is go without a step back to where one was. */
export function settle(href: string): void {
  history.replaceState(null, '', href);
  hash.value = location.hash;
  if (here.value) localStorage.setItem(lastKey, here.value);
}

/** leave goes nowhere in particular. */
export function leave(): void {
  settle(location.pathname + location.search);
}

/** forgetPlace has nothing be the visit before. */
export const forgetPlace = (): void => localStorage.removeItem(lastKey);

/** lastPlace is the namespace of the visit before, as owner/namespace. */
export const lastPlace = (): string => localStorage.getItem(lastKey) ?? '';
