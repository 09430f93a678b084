// The REST interface, as far as the page uses it.
import { noAnswer } from './connection';
import { credentials, refused, token } from './session';

/** Refusal is an answer that is not what was asked for. status is 0 when there was none. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** How long the server asks to be left alone, in milliseconds. */
    readonly after = 0,
  ) {
    super(message);
    this.name = 'Refusal';
  }
  /** temporary says that the same request may work later. */
  get temporary(): boolean {
    return [0, 408, 429].includes(this.status) || this.status >= 500;
  }
}

/** base is the address of the interface, at the origin that the page is from. */
export const base = new URL('api/v1/', globalThis.document?.baseURI ?? 'http://localhost/');

/** path puts names into a path, each as one segment. */
export function path(texts: TemplateStringsArray, ...names: string[]): string {
  const wrong = names.find((name) => name === '.' || name === '..');
  if (wrong) throw new Error(`“${wrong}” cannot be a name.`); // in an address it means another one
  return texts.reduce((all, text, i) => all + encodeURIComponent(names[i - 1]!) + text);
}

/** send is fetch with the token. Answers that are no success are thrown. */
export async function send(address: URL | string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const used = token.peek();
  for (const [name, value] of Object.entries(credentials(used))) headers.set(name, value);
  let response: Response;
  try {
    response = await fetch(address, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    void noAnswer();
    throw new Refusal(0, 'The server cannot be reached. Check that it is running, then try again.');
  }
  if (response.ok) return response;
  if (response.status === 401) refused(used);
  throw new Refusal(response.status, await reason(response), after(response.headers.get('Retry-After')));
}

/** after reads Retry-After, in milliseconds: a minute at most, 0 when it does not say. */
export const after = (seconds: string | null): number => (/^\d+$/.test(seconds ?? '') ? Math.min(60, Number(seconds)) * 1000 : 0);

async function reason(response: Response): Promise<string> {
  try {
    const body = await response.json();
    const said = [body.message, body.error_message].filter(Boolean).join('; ');
    const more = (body.sub_errors ?? []).filter((e: { message: string }) => !said.includes(e.message));
    const text = [said, ...more.map((e: { code: string; message: string }) => `${e.code}: ${e.message}`)].filter(Boolean).join('; ');
    // The first word of a sentence, not the name of a file or a field.
    if (text) return (/^\p{L}+[ ,;]/u.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + '.';
  } catch {
    // Something between us and the server has answered.
  }
  return `The server answered ${response.status}. Try again later.`;
}

export async function call<T>(method: string, at: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(new URL(at, base), {
    method,
    signal,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
  });
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** say gives the words of an error. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export interface Namespace {
  name: string;
  owner: string;
}

export interface Dataset extends Namespace {
  namespace: string;
}

export interface Column {
  name: string;
  type: string;
}

export interface Metadata {
  columns: Column[];
  /** -1 if it is not known: in a list, where the reader sees some of the rows only. */
  rowCount: number;
  displayName?: string;
  dataDescription?: string;
  schemaDefinition?: Record<string, string>;
  access: 'owner' | Role;
}

/** mayEdit says whether the rows and the description of a dataset may be changed. */
export const mayEdit = (m: Metadata | undefined): boolean => m?.access === 'owner' || m?.access === 'editor';

/** What a token covers: all that its user may read where it is not restricted. */
export interface Permissions {
  restricted: boolean;
  access: 'read' | 'write';
  permissions: { username: string; namespace: string; dataset?: string }[];
}

export const permissionsOf = (token: string) => call<Permissions>('GET', path`user/tokens/${token}/permissions`);

export interface Share {
  username: string;
  role: Role;
}

export type Role = 'viewer' | 'editor';

export interface Summary {
  id: string;
  title: string;
  updatedAt: number;
}

export interface Attempt {
  id: string;
  status: 'pending' | 'processing' | 'completed' | 'failed';
  statusMessage: string | null;
  processedRows: number;
  attributes: { name?: string; mode?: Mode; createdAt: string; files?: Sent[]; options?: Options } & Report;
}

export type Mode = 'append' | 'replace';

/** How a file is to be read. What is left out is detected. */
export interface Options {
  encoding?: string;
  delimiter?: string;
  headerRow?: number;
  sheet?: string;
  nullValues?: string[];
  types?: Record<string, string>;
}

/** What a column became. */
export interface ColumnReport extends Column {
  /** The form that its cells were read from, and what stood beside the numbers. */
  from?: string;
  unit?: string;
  missing: number;
  /** The cells that kept it from a narrower type, and the first of their lines. */
  misfits?: number;
  misfitLines?: number[];
}

export interface Warning {
  line?: number;
  column?: string;
  message: string;
}

/** How a file was read. */
export interface Report {
  encoding?: string;
  delimiter?: string;
  headerRow?: number;
  columns?: ColumnReport[];
  warnings?: Warning[];
}

export interface TablePreview {
  name: string;
  columns: (ColumnReport & { examples: unknown[] })[];
  rows: Record<string, unknown>[];
  rowCount: number;
  warnings: Warning[];
}

export interface Preview {
  tables: TablePreview[];
  encoding?: string;
  delimiter?: string;
  headerRow?: number;
}

/** A file that was sent. */
export interface Sent {
  sessionId: string;
  fileId: string;
}

/** previewOf gives what an ingestion of a file would make, and stores nothing. */
export const previewOf = (file: Sent, options: Options, signal: AbortSignal) => call<Preview>('POST', 'ingest/preview', { ...file, options }, signal);

export const namespaces = () => call<Namespace[]>('GET', 'schema/self/namespaces');

export const allDatasets = () => call<Dataset[]>('GET', 'schema/datasets/all');

/** A dataset and, once it is read, what is in it. */
export interface Described extends Dataset {
  metadata?: Metadata;
}

/** describedOf is datasetsOf with their metadata, as far as it fits into an answer. */
export const describedOf = async (n: Namespace): Promise<Described[]> => {
  const list = await call<Described[]>('GET', path`schema/${n.owner}/${n.name}/datasets?metadata=true`);
  for (const { metadata } of list) if (metadata) metadata.rowCount ??= -1;
  return list;
};

export const datasetsOf = (n: Namespace) => call<Dataset[]>('GET', path`schema/${n.owner}/${n.name}/datasets`);

export const pathOf = (d: Dataset) => path`data/${d.owner}/${d.namespace}/${d.name}`;

export const metadataOf = async (d: Dataset) => (await call<{ metadata: Metadata }>('GET', pathOf(d))).metadata;

export const define = (d: Dataset, definition: { displayName: string | null; dataDescription: string | null; schemaDefinition: Record<string, string> | null }) =>
  call<void>('PUT', `${pathOf(d)}/inferDefinition`, definition);

export const rename = (d: Dataset, name: string) =>
  send(new URL(`${pathOf(d)}/rename`, base), { method: 'POST', body: name, headers: { 'Content-Type': 'text/plain' } });

/** What a column holds. */
export interface ColumnProfile extends Column {
  unit?: string;
  missing?: number;
  distinct?: number;
  min?: string | number;
  max?: string | number;
  top?: { value: string | number; count: number }[];
  histogram?: { from: string | number; to: string | number; count: number }[];
  length?: { min: number; max: number; average: number };
}

export const profileOf = (d: Dataset, signal: AbortSignal) =>
  call<{ version: number; rowCount: number; columns: ColumnProfile[] }>('GET', `${pathOf(d)}/profile`, undefined, signal);

export interface Rows {
  data: Record<string, unknown>[];
  metadata: { count: number; truncated: boolean; totalRows?: number; period?: { dataset: string; column: string } };
}

export const rowsOf = (d: Dataset, page: { limit: number; offset: number; sort?: string; order?: 'asc' | 'desc' }, signal: AbortSignal) => {
  const query = new URLSearchParams(Object.entries(page).filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => [name, String(value)]));
  return call<Rows>('GET', `${pathOf(d)}/rows?${query}`, undefined, signal);
};

export type DownloadFormat = 'csv' | 'parquet';

/** downloadOf gives all rows as a file. In CSV, a quote precedes texts that a spreadsheet would run. */
export const downloadOf = async (d: Dataset, format: DownloadFormat, signal: AbortSignal): Promise<Blob> =>
  (await send(new URL(`${pathOf(d)}/download?format=${format}&escapeFormulas=true`, base), { signal })).blob();

export const query = (d: Dataset, sql: string, signal: AbortSignal) =>
  call<Rows>('POST', 'query', { username: d.owner, namespace: d.namespace, dataset: d.name, query: sql }, signal);

/** runQuery runs a query over a namespace. The chart is of what answers the question. */
export const runQuery = (n: Namespace, sql: string, question: string, signal?: AbortSignal, period?: Period) =>
  call<Rows & { chart?: unknown }>('POST', 'query', { username: n.owner, namespace: n.name, query: sql, question, period }, signal);

/** Days, as 2025-01-31. */
export interface Period {
  from: string;
  to: string;
}

/** A query that was saved, with the question that it answers. */
export interface SavedQuery {
  id: string;
  title?: string;
  question: string;
  query: string;
  wide?: boolean;
  watch?: Watch;
}

/** When a pinned query is asked again for the user, and what had changed. */
export interface Watch {
  /** The time of the day in UTC; none for each change of the data. */
  at?: string;
  webhook?: string;
  change?: string;
  changedAt?: string;
  conversationId?: string;
  problem?: string;
}

export interface SavedQueries {
  access: 'owner' | Role;
  queries: SavedQuery[];
  dataChangedAt?: string;
}

export const changePin = (n: Namespace, id: string, change: { title?: string; wide?: boolean; place?: number }) => call<void>('PATCH', path`boards/${n.owner}/${n.name}/${id}`, change);

export const watch = (n: Namespace, id: string, how: { at?: string; webhook?: string; token?: string }) => call<void>('PUT', path`boards/${n.owner}/${n.name}/${id}/watch`, how);

export const unwatch = (n: Namespace, id: string) => call<void>('DELETE', path`boards/${n.owner}/${n.name}/${id}/watch`);

export const savedQueries = (kind: string, n: Namespace) => call<SavedQueries>('GET', path`${kind}/${n.owner}/${n.name}`);

export const save = (kind: string, n: Namespace, question: string, query: string) => call<void>('POST', path`${kind}/${n.owner}/${n.name}`, { question, query });

export const removeSaved = (kind: string, n: Namespace, id: string) => call<void>('DELETE', path`${kind}/${n.owner}/${n.name}/${id}`);

/** A link from columns of a dataset to those of another one. */
export interface Link {
  columns: string[];
  dataset: string;
  toColumns: string[];
  label?: string | null;
  /** What it has come to; null where that is not known. */
  cardinality?: string | null;
  hits?: number | null;
  orphans?: number | null;
  /** Why it cannot be used. */
  problem?: string;
}

export interface Links {
  links: Link[];
  suggested: Link[];
}

export const linksOf = (d: Dataset, signal: AbortSignal) => call<Links>('GET', `${pathOf(d)}/links`, undefined, signal);

export const setLinks = (d: Dataset, links: Link[]) =>
  call<void>('PUT', `${pathOf(d)}/links`, { links: links.map(({ columns, dataset, toColumns, label }) => ({ columns, dataset, toColumns, ...(label && { label }) })) });

export const retry = (attempt: string) => call<{ id: string }>('POST', path`ingestionTracking/${attempt}/retry`);

/** removeNamespace deletes a namespace that has no datasets. */
export const removeNamespace = (n: Namespace) => call<void>('DELETE', path`data/${n.owner}/${n.name}`);

export const remove = (d: Dataset) => call<void>('DELETE', pathOf(d));

/** attemptsOf gives ingestions into a dataset, newest first: those from before a time, when one is given. */
export const attemptsOf = async (d: Dataset, pageSize: number, beforeCreatedAt: string | undefined, signal: AbortSignal) => {
  const query = new URLSearchParams({ pageSize: String(pageSize), ...(beforeCreatedAt && { beforeCreatedAt }) });
  return (await call<{ data: Attempt[] }>('GET', `${pathOf(d)}/ingest/attempts?${query}`, undefined, signal)).data;
};

/** A thing that can be shared: a namespace, or a dataset in one. */
export type Shared = Namespace | Dataset;

const sharesOf = (s: Shared) =>
  'namespace' in s
    ? path`permissions/datasets/${s.owner}/${s.namespace}/${s.name}/shares`
    : path`permissions/namespaces/${s.owner}/${s.name}/shares`;

export const shares = (s: Shared) => call<Share[]>('GET', sharesOf(s));
export const share = (s: Shared, share: Share) => call<void>('POST', sharesOf(s), share);
export const revoke = (s: Shared, share: Share) => call<void>('DELETE', sharesOf(s), share);

/** Which rows of a dataset a user or a group sees: by a condition, or by a claim of the user. */
export interface RowRule {
  username: string;
  condition?: string;
  column?: string;
  claim?: string;
}

const rulesOf = (d: Dataset) => path`permissions/datasets/${d.owner}/${d.namespace}/${d.name}/rules`;

export const rowRules = (d: Dataset) => call<RowRule[]>('GET', rulesOf(d));
export const setRowRule = (d: Dataset, rule: RowRule) => call<{ visibleRows?: number; rowCount?: number }>('POST', rulesOf(d), rule);
export const removeRowRule = (d: Dataset, username: string) => call<void>('DELETE', rulesOf(d), { username });

/** A model that answers questions, or the built-in reader. */
export interface Model {
  name: string;
  builtIn: boolean;
}

export const models = async () => (await call<{ models: Model[] }>('GET', 'query/models')).models;

export const conversationsOf = async (n: Namespace) => {
  const query = new URLSearchParams({ username: n.owner, namespace: n.name });
  return (await call<{ conversations: Summary[] }>('GET', `query/conversations?${query}`)).conversations;
};

export const retitle = (conversation: string, title: string) => call<void>('PATCH', path`query/conversations/${conversation}`, { title });

export const forget = (conversation: string) => call<void>('DELETE', path`query/conversations/${conversation}`);

/** An answer that its asker shared by a link. */
export interface SharedRun {
  askedBy: string;
  username: string;
  namespace: string;
  question: string;
  result: { response: string; steps: { instruction: string; query: string; reasoning: string; data: Record<string, unknown>[]; truncated?: boolean; totalRows?: number; chart?: unknown; verified?: boolean; certainty?: string }[] };
}

export const shareRun = (run: string) => call<{ id: string }>('POST', path`query/runs/${run}/share`);
export const shareOf = async (run: string) => (await call<{ id: string | null }>('GET', path`query/runs/${run}/share`)).id;
export const endShare = (run: string) => call<void>('DELETE', path`query/runs/${run}/share`);
export const sharedRun = (share: string, signal: AbortSignal) => call<SharedRun>('GET', path`shared/${share}`, undefined, signal);

/** How an answer was found, signed. */
export interface Receipt {
  runId: string;
  askedBy: string;
  askedAt: string;
  question: string;
  steps: {
    instruction: string;
    reading: string;
    query: string;
    datasets: { dataset: string; version?: number; hash?: string }[];
    rowCount: number;
    truncated?: boolean;
    rowsHash: string;
    verifiedBy?: string;
  }[];
}

/** What the queries of a receipt give now. */
export interface ReceiptCheck {
  signed: boolean;
  problem?: string;
  same: boolean;
  steps: { same: boolean; reason?: string }[];
}

export const receiptOf = (run: string) => call<Receipt>('GET', path`query/runs/${run}/receipt`);
export const checkReceipt = (receipt: Receipt) => call<ReceiptCheck>('POST', 'query/receipts/verify', receipt);

/** answer answers what a run asks: with the id of an option, or in words. */
export const answer = (run: string, input: { option: string } | { text: string }) => call<void>('POST', path`query/runs/${run}/input`, input);

export const rate = (run: string, thumbsUp: boolean, comment: string) =>
  call<void>('POST', path`query/runs/${run}/feedback`, comment ? { thumbsUp, comment } : { thumbsUp });
