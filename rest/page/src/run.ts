// A run as it is shown: what a task's messages and artifacts mean.
import { toSpec, type Spec } from './chart/spec';
import { plain } from './entities';
import type { Row } from './rows';
import type { Artifact, Message, Part, Task } from './task';

export interface Step {
  id: string;
  instruction: string;
  reasoning: string;
  query: string;
  /** undefined while they are on their way. */
  rows?: Row[];
  truncated: boolean;
  /** How many rows a truncated result has in all, where they were counted. */
  total?: number;
  /** undefined where none helps to read the rows. */
  chart?: Spec;
  /** Whether the query was verified for the question. */
  verified?: boolean;
  /** Whether the question may mean something else. */
  likely?: boolean;
}

/** Option is a possible answer to what a run asks. */
export interface Option {
  id: string;
  label: string;
  query: string;
}

export interface Run {
  id: string;
  question: string;
  state: 'working' | 'waiting' | 'completed' | 'failed' | 'canceled';
  plan?: { reasoning: string; steps: string[] };
  steps: Step[];
  /** What is being worked on, while something is. */
  current: string;
  /** What its user is asked, while it waits for the answer. */
  asks?: { question: string; options: Option[] };
  /** The answer, in Markdown; '' when there is none yet. */
  answer: string;
  /** The language model that answered, as far as it is known. */
  model: string;
  /** Why it failed, and the query that did. */
  failure: string;
  failedQuery: string;
  /** notUnderstood is true of a question that no query could be written for. */
  notUnderstood: boolean;
  /** Questions to ask in its place, which can be answered. */
  suggestions: string[];
  /** Whether the question may mean something else, and other readings of it. */
  likely: boolean;
  alternatives: string[];
  /** Whether each step has a query, which tells who may read the answer. */
  sharable: boolean;
}

const states: Record<string, Run['state']> = {
  TASK_STATE_INPUT_REQUIRED: 'waiting',
  TASK_STATE_AUTH_REQUIRED: 'waiting',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
};

export function toRun(task: Task, question: string): Run {
  const said = [...task.history, ...(task.status.message ? [task.status.message] : [])];
  const state = states[task.status.state] ?? 'working';
  const steps = stepsOf(task.artifacts);
  const failure = state === 'failed' ? task.status.message : undefined;
  return {
    id: task.id,
    question: questionOf(task) || question,
    state,
    plan: planOf(said),
    steps,
    current: state === 'working' ? currentOf(task.status.message) : '',
    asks: state === 'waiting' ? asksOf(task.status.message) : undefined,
    answer: plainAnswer(answerOf(task.artifacts), steps.length),
    model: string(record(task.metadata?.usage).model),
    failure: failure ? plain(text(failure.parts)) || 'It failed, and did not say why. Ask again.' : '',
    failedQuery: string(record(data(failure?.parts ?? [])).query),
    ...refusalOf(task, failure),
    likely: task.metadata?.certainty === 'likely',
    alternatives: list(task.metadata?.alternatives).map((each) => plain(string(record(each).label))).filter(Boolean),
    sharable: task.artifacts.filter(isQuery).every((a) => a.metadata?.answered !== false && text(a.parts).trim() !== ''),
  };
}

/** technical are sentences of the server about how datasets were joined. They are shown with the query. */
const technical = / ?(?:Joined by .*?\.(?= |\n|$)|[\d.,\u202f’]+ rows? of `[^`]*` (?:is|are) left out: .*?\.(?= |\n|$))/g;

/** withoutTechnical parts a text into what all read, and what belongs to the query. */
export function withoutTechnical(text: string): { text: string; technical: string } {
  return { text: text.replace(technical, '').trim(), technical: (text.match(technical) ?? []).join('').trim() };
}

/** plainAnswer is an answer without references to its only step, and without what belongs to the query. */
export const plainAnswer = (answer: string, steps: number): string => withoutTechnical(steps > 1 ? answer : answer.replace(/ ?\[step \d+\]/g, '')).text;

/** refusalOf tells whether there is no answer, and what to ask: nl2ql says so in its failure, the assistant with each step. */
function refusalOf(task: Task, failure: Message | undefined): Pick<Run, 'notUnderstood' | 'suggestions'> {
  const said = record(data(failure?.parts ?? []));
  const queries = task.artifacts.filter((a) => /^step-\d+$/.test(a.artifactId));
  const refused = queries.length > 0 && queries.every((a) => a.metadata?.answered === false);
  const lists = said.code === 'NOT_UNDERSTOOD' ? [said.suggestions] : refused ? queries.map((a) => a.metadata?.suggestions) : [];
  const questions = lists.flatMap(list).map((each) => plain(string(each))).filter(Boolean);
  return { notUnderstood: said.code === 'NOT_UNDERSTOOD' || refused, suggestions: [...new Set(questions)].slice(0, 4) };
}

/** questionOf gives the words of the message that began a task. */
export const questionOf = (task: Task): string => {
  const asked = task.history.find((m) => m.role === 'ROLE_USER');
  return asked ? text(asked.parts) : '';
};

function planOf(said: Message[]): Run['plan'] {
  for (const message of said) {
    const { steps } = record(data(message.parts));
    if (message.role === 'ROLE_AGENT' && Array.isArray(steps)) return { reasoning: plain(text(message.parts)), steps: steps.map((step) => plain(string(step))) };
  }
  return undefined;
}

function currentOf(message: Message | undefined): string {
  if (!message) return 'Thinking';
  return data(message.parts) === undefined ? plain(text(message.parts)) : 'Planning';
}

/** asksOf reads a question to the user. Its text lists the options, too, for those who read nothing else. */
function asksOf(message: Message | undefined): Run['asks'] {
  const parts = message?.parts ?? [];
  const { options } = record(data(parts));
  const known = list(options).map(record).map((o) => ({ id: string(o.id), label: plain(string(o.label)), query: string(o.query) }));
  const words = plain(text(parts));
  return { question: (known.length ? words.split('\n', 1)[0] : words) || 'The agent waits for an answer.', options: known.filter((o) => o.id) };
}

const isQuery = (a: Artifact): boolean => a.artifactId === 'generated-query' || /^step-\d+$/.test(a.artifactId);

function stepsOf(artifacts: Artifact[]): Step[] {
  const steps = artifacts.filter((a) => /^step-\d+$/.test(a.artifactId));
  steps.sort((a, b) => Number(a.artifactId.slice(5)) - Number(b.artifactId.slice(5)));
  const query = artifacts.find((a) => a.artifactId === 'generated-query');
  // A step that no query fits only says so, which the answer does too.
  if (!query) return steps.filter((a) => a.metadata?.answered !== false).map((a) => toStep(a, a));
  if (query.metadata?.answered === false) return [];
  return [toStep(query, artifacts.find((a) => a.artifactId === 'result-data'))];
}

function toStep(made: Artifact, result: Artifact | undefined): Step {
  const { rows, truncated, totalRows } = record(data(result?.parts ?? []));
  return {
    id: made.artifactId,
    instruction: plain(string(made.metadata?.instruction)),
    reasoning: plain(string(made.metadata?.reasoning)),
    query: text(made.parts),
    rows: Array.isArray(rows) ? rows.map(record) : undefined,
    truncated: truncated === true,
    total: typeof totalRows === 'number' ? totalRows : undefined,
    chart: toSpec(result?.metadata?.chart),
    verified: made.metadata?.verified === true,
    likely: made.metadata?.certainty === 'likely',
  };
}

/** isCount tells of an answer that only says how many rows there are. */
export const isCount = (words: string): boolean => /^\d+ (of \d+ )?rows?(, and there are more)?$/.test(words);

function answerOf(artifacts: Artifact[]): string {
  const answer = artifacts.find((a) => a.artifactId === 'answer' || a.artifactId === 'result-data');
  const words = answer ? text(answer.parts) : '';
  // How many rows there are is said where they are shown.
  return answer?.artifactId === 'result-data' && isCount(words) ? '' : words;
}

const text = (parts: Part[]): string => parts.flatMap((p) => (typeof p.text === 'string' ? [p.text] : [])).join('\n');

const data = (parts: Part[]): unknown => parts.find((p) => p.data !== undefined)?.data;

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const string = (value: unknown): string => (typeof value === 'string' ? value : '');
