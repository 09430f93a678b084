// What the page knows: namespaces, datasets, conversations, the one that is open.
import { computed, effect, signal, untracked } from '@preact/signals';
import { agents, tasksOf, type Agent } from './a2a';
import * as api from './api';
import { lost } from './connection';
import { models, modelToAsk } from './models';
import { uuid } from './names';
import { go, here, hrefOf, lastPlace, leave, place, settle, type Place } from './place';
import { allRights, leastRights, rights } from './rights';
import { ownID, token, user } from './session';
import { Turn } from './turn';

export const namespaces = signal<api.Namespace[] | undefined>(undefined);

/** What could not be read, by what it was. */
const problems = signal<Record<string, string>>({});
export const problem = computed(() => Object.values(problems.value).find(Boolean) ?? '');
const report = (what: string, words: string) => (problems.value = { ...problems.value, [what]: words });

export type Described = api.Described;

export const datasets = signal<Described[] | undefined>(undefined);
export const conversations = signal<api.Summary[] | undefined>(undefined);

/** The questions of the conversation that is open; undefined while they are read. */
export const turns = signal<Turn[] | undefined>([]);
let open = '';

/** The question that is being answered, or waits for an answer of its user. */
export const working = computed(() => turns.value?.find((turn) => !turn.over.value));

/** shortcuts is true while the list of keys is shown. */
export const shortcuts = signal(false);

/** The questions that were asked since the page was loaded, and by whom. */
let recent: { user: string; questions: string[] } = { user: '', questions: [] };

/** askedBefore gives the questions that can be recalled, the last one last: those of the conversation, else the recent ones. */
export function askedBefore(): string[] {
  const here = (turns.value ?? []).map((turn) => turn.run.value?.question || turn.question.text);
  const all = here.length || recent.user !== user.value ? here : recent.questions;
  return all.filter((question, i) => question !== all[i + 1]);
}

/** What a user has written and not asked yet, kept while they sign in again. */
export const draft = signal({ user: '', text: '' });
/** The conversation of a question that was not heard, so that there may be none. */
let unheard = '';
/** Who asked the questions that are open. */
let asker = '';
/** The conversation that could not be read since the server was away. */
let unread = '';
/** Ended when the conversation that is being opened is left. */
let opening = new AbortController();

const current = (): api.Namespace | undefined => place.value && { owner: place.value.owner, name: place.value.namespace };

export const mine = (owner: string): boolean => owner === user.value;

/** who and visit tell for whom, and where, something was asked for. */
const who = () => token.peek();
const visit = () => `${token.peek()} ${here.peek()}`;

/**
 * attempt does work and reports how it went. What comes when another user is
 * there, or the same one elsewhere, is no longer wanted.
 */
async function attempt(what: string, scope: () => string, work: (wanted: () => boolean) => Promise<void>): Promise<void> {
  const asked = scope();
  const wanted = () => scope() === asked;
  try {
    await work(wanted);
    if (wanted()) report(what, '');
  } catch (error) {
    if (wanted()) report(what, api.say(error));
  }
}

/** nowhere says what a namespace that is not found means. */
function nowhere(error: unknown): never {
  if (isMissing(error)) {
    throw new Error(`There is no namespace ${here.value} that you may read. Choose another one.`);
  }
  throw error;
}

/** readNamespaces lists them, and goes to one when none is chosen. */
export const readNamespaces = () =>
  attempt('namespaces', who, async (wanted) => {
    const list = await api.namespaces();
    if (!wanted()) return;
    list.sort((a, b) => Number(mine(b.owner)) - Number(mine(a.owner)) || a.owner.localeCompare(b.owner) || a.name.localeCompare(b.name));
    namespaces.value = list;
    const first = list.find((n) => `${n.owner}/${n.name}` === lastPlace()) ?? (await firstWithData(list));
    // The address may have changed already, and the page not been told.
    if (wanted() && !place.value && location.hash.length < 2 && first) settle(hrefOf(first.owner, first.name));
  });

const readModels = () =>
  attempt('models', who, async (wanted) => {
    const list = await api.models();
    if (wanted()) models.value = list;
  });

/** readRights reads what the token covers, where it can be restricted. */
const readRights = () =>
  attempt('rights', who, async (wanted) => {
    const id = ownID(token.peek());
    if (!id) return void (rights.value = allRights);
    const found = await api.permissionsOf(id).catch((error) => {
      if (error instanceof api.Refusal && error.status === 403) return leastRights;
      throw error;
    });
    if (wanted()) rights.value = found;
  });

/** firstWithData is the first namespace of a list that has a dataset, else the first one. */
async function firstWithData(list: api.Namespace[]): Promise<api.Namespace | undefined> {
  if (list.length < 2 || place.value) return list[0];
  const all = await api.allDatasets();
  return list.find((n) => all.some((d) => d.owner === n.owner && d.namespace === n.name)) ?? list[0];
}

/** The place for which the datasets were read last. */
export const readAt = signal<Place | undefined>(undefined);
/** Counts the readings of datasets: a later one takes the place of those before. */
let reading = 0;

/** readDatasets lists them. With quiet, what has not changed stays as it is on the screen. */
export function readDatasets(quiet = false): Promise<void> {
  reading++;
  return attempt('datasets', () => `${visit()} ${reading}`, async (wanted) => {
    const namespace = current();
    const at = place.value;
    if (!namespace) return void (datasets.value = undefined);
    const list = await api.describedOf(namespace).catch((error) => {
      if (wanted() && isMissing(error)) datasets.value = undefined;
      return nowhere(error);
    });
    if (!wanted()) return;
    const before = datasets.value ?? [];
    datasets.value = list.map((d) => {
      const known = before.find((b) => b.name === d.name)?.metadata;
      return { ...d, metadata: !d.metadata || (quiet && isSame(d.metadata, known)) ? known : d.metadata };
    });
    readAt.value = at;
    const queue = list.filter((d) => !d.metadata);
    await Promise.all(Array.from({ length: 6 }, async () => {
      for (let d = queue.shift(); d; d = queue.shift()) {
        const { name } = d;
        const metadata = await api.metadataOf(d).catch(unlessMissing);
        if (!wanted()) return;
        if (!metadata) datasets.value = datasets.value?.filter((each) => each.name !== name);
        else if (!quiet || !isSame(metadata, datasets.value?.find((each) => each.name === name)?.metadata)) {
          datasets.value = datasets.value?.map((each) => (each.name === name ? { ...each, metadata } : each));
        }
      }
    }));
  });
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const isMissing = (error: unknown): boolean => error instanceof api.Refusal && error.status === 404;

function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** explain gives the words of an error about a dataset. What is not found may have been deleted: the list is read again. */
export function explain(error: unknown): string {
  if (isMissing(error)) void refresh();
  return api.say(error);
}

/** refresh reads again what others may have changed. */
export const refresh = () => Promise.all([readNamespaces(), readDatasets(true)]);

export const readConversations = () =>
  attempt('conversations', visit, async (wanted) => {
    const namespace = current();
    if (!namespace) return void (conversations.value = undefined);
    const list = await api.conversationsOf(namespace).catch(nowhere);
    if (wanted()) conversations.value = list;
  });

/** ask sends a question, in the conversation that is open or a new one. */
export function ask(agent: Agent, text: string): void {
  const { owner, namespace, conversation } = place.value!;
  const id = conversation || uuid();
  const turn = Turn.ask(agent, { text, namespace: here.value, contextId: id, model: modelToAsk() });
  asker = user.value;
  recent = { user: asker, questions: [...(recent.user === asker ? recent.questions : []), text] };
  open = id;
  turns.value = [...(turns.value ?? []), turn];
  if (!conversation) go(hrefOf(owner, namespace, id));
  // The conversation is in the list once the run exists.
  const stop = effect(() => {
    if (!turn.task.value && !turn.over.value) return;
    queueMicrotask(() => stop());
    untracked(() => void readConversations());
  });
}

/** focusQuestion gives the focus to the field for questions. */
export const focusQuestion = (): void => document.getElementById('question')?.focus();

function closeConversation(): void {
  opening.abort();
  for (const turn of turns.peek() ?? []) {
    turn.leave();
    if (!turn.unheard) continue;
    draft.value = { user: asker, text: turn.question.text };
    unheard = turn.question.contextId;
  }
  turns.value = [];
}

async function openConversation(id: string, namespace: string): Promise<void> {
  turns.value = undefined;
  unread = '';
  opening = new AbortController();
  const { signal } = opening;
  try {
    const found = await Promise.all(agents.map(async (agent) => (await tasksOf(agent, id, signal)).map((task) => ({ agent, task }))));
    if (signal.aborted) return;
    // Ids of tasks count up with the time.
    const list = found.flat().sort((a, b) => (a.task.id < b.task.id ? -1 : 1));
    turns.value = list.map(({ agent, task }) => Turn.of(agent, task, namespace));
    if (!list.length && id === unheard && place.value) return settle(hrefOf(place.value.owner, place.value.namespace));
    report('conversation', list.length ? '' : 'There is no such conversation any more. Ask a new question.');
  } catch (error) {
    if (signal.aborted) return;
    if (lost.value) return void (unread = id);
    turns.value = [];
    report('conversation', api.say(error));
  }
}

/** removeNamespace deletes the namespace that one is in, and goes to another one. */
export async function removeNamespace(): Promise<void> {
  await api.removeNamespace(current()!).catch(unlessMissing); // it is gone already
  leave();
  await readNamespaces();
}

export async function forget(id: string): Promise<void> {
  await api.forget(id);
  if (place.value?.conversation === id) go(hrefOf(place.value.owner, place.value.namespace));
  await readConversations();
}

/** rename gives a conversation another title. */
export async function rename(id: string, title: string): Promise<void> {
  await api.retitle(id, title);
  await readConversations();
}

/** watch reads what is needed wherever one goes. */
export function watch(): void {
  effect(() => {
    if (!token.value) {
      namespaces.value = datasets.value = conversations.value = models.value = rights.value = undefined;
      problems.value = {};
      return;
    }
    untracked(() => {
      rights.value = undefined;
      void readRights();
      void readNamespaces();
      void readModels();
    });
  });
  let visited = '';
  effect(() => {
    const at = token.value && place.value;
    untracked(() => {
      const moved = visited !== visit();
      visited = visit();
      if (!moved) return void (at && (at.view === 'new' || at.view === 'data') && refresh());
      report('datasets', '');
      report('conversations', '');
      if (!at) return;
      datasets.value = conversations.value = undefined;
      void readDatasets();
      void readConversations();
    });
  });
  let away = false;
  effect(() => {
    if (away && !lost.value && token.value) untracked(() => Promise.all([readRights(), readNamespaces(), readModels(), readDatasets(), readConversations(), unread && unread === open && openConversation(unread, here.peek())]));
    away = lost.value;
  });
  effect(() => {
    const id = token.value ? (place.value?.conversation ?? '') : '';
    const namespace = here.value;
    untracked(() => {
      if (id === open) return;
      open = id;
      closeConversation();
      report('conversation', '');
      if (id) void openConversation(id, namespace);
    });
  });
}
