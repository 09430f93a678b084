// The saved queries of the namespace that one is in: verified ones, and those on its board.
import { computed, effect, signal, untracked } from '@preact/signals';
import * as api from './api';
import { here, place } from './place';
import { token } from './session';

export type Kind = 'verified' | 'boards';

const none: Record<Kind, api.SavedQueries | undefined> = { verified: undefined, boards: undefined };

/** saved has what was read; undefined until then. */
export const saved = signal(none);

/** editsNamespace is true of the owner and the editors of the namespace that one is in: they save queries and rename datasets. */
export const editsNamespace = computed(() => ['owner', 'editor'].includes(saved.value.verified?.access ?? ''));

/** problem says why the board could not be read. */
export const problem = signal('');

export async function readSaved(kind: Kind): Promise<void> {
  if (!place.peek()) return;
  const visit = () => `${token.peek()} ${here.peek()}`;
  const before = visit();
  try {
    const list = await api.savedQueries(kind, namespaceHere());
    if (visit() !== before) return;
    saved.value = { ...saved.value, [kind]: list };
    problem.value = '';
  } catch (error) {
    if (visit() === before) problem.value = api.say(error);
  }
}

/** watchSaved reads them wherever one goes. */
export function watchSaved(): void {
  effect(() => {
    const wanted = token.value && here.value;
    untracked(() => {
      saved.value = none;
      problem.value = '';
      if (wanted) void Promise.all([readSaved('verified'), readSaved('boards')]);
    });
  });
}

const blanks = /\s+/g;
const plain = (text: string): string => text.normalize('NFKC').toLowerCase().replace(blanks, ' ').trim().replace(/[\p{P}\s]+$/u, '');

/** find gives the saved query that is this one. */
export const find = (kind: Kind, question: string, query: string): api.SavedQuery | undefined =>
  saved.value[kind]?.queries.find((q) => plain(q.question) === plain(question) && q.query.replace(blanks, ' ').trim() === query.replace(blanks, ' ').trim());

/** toggle saves a query, or removes it where it is saved. */
export async function toggle(kind: Kind, question: string, query: string): Promise<void> {
  const known = find(kind, question, query);
  if (known) return remove(kind, known.id);
  await api.save(kind, namespaceHere(), question, query);
  await readSaved(kind);
}

export async function remove(kind: Kind, id: string): Promise<void> {
  await api.removeSaved(kind, namespaceHere(), id).catch((error) => {
    if (!(error instanceof api.Refusal) || error.status !== 404) throw error; // somebody else has removed it
  });
  await readSaved(kind);
}

const namespaceHere = (): api.Namespace => ({ owner: place.peek()!.owner, name: place.peek()!.namespace });
