// Tables of a file that become datasets.
import { signal } from '@preact/signals';
import { metadataOf, say, type Attempt, type Dataset, type Metadata, type Mode, type Options, type Sent } from '../api';
import { ingested } from './ingestion';
import { inLocale } from '../locale';
import { patiently } from '../patience';
import { here } from '../place';
import { readDatasets, readNamespaces } from '../store';
import { ingest, make, unmake } from './upload';

/** What is being added: a file, one to be chosen or one that was sent before, to a dataset or to any. */
export interface Adding {
  file?: File;
  /** The files that come after it, and how many there are with those before. */
  next?: File[];
  total?: number;
  into?: Dataset;
  /** An ingestion that is to be done again, with other types or options. */
  again?: { sent: Sent; filename: string; options: Options };
  /** What is proposed for the rows that there are. */
  mode?: Mode;
}

/** adding is what the dialog for files is open for; undefined while it is not. */
export const adding = signal<Adding | undefined>(undefined);

/** add begins with the first of some files, which may be the last ones of more. */
export function add([file, ...next]: File[], into?: Dataset, total = next.length + 1): void {
  if (file) adding.value = { file, next, total, into };
}

/** waitingWords says which file of several it is that is being added, and which is next; '' for one file. */
export function waitingWords({ next = [], total = 1 }: Adding): string {
  if (total < 2) return '';
  return `File ${inLocale(total - next.length)} of ${inLocale(total)}.${next[0] ? ` Next: ${next[0].name}.` : ''}`;
}

/** Target is where a table goes, and how it is read. */
export interface Target {
  to: Dataset;
  mode: Mode;
  options: Options;
}

/** Imported is what became of a table. */
export interface Imported {
  to: Dataset;
  metadata?: Metadata;
  attempt?: Attempt;
  /** Why it is not in its dataset; '' when it is. */
  failure: string;
}

/** importAll imports tables of a file, one after the other. now is called with how far it is. */
export async function importAll(file: Sent, targets: Target[], abort: AbortSignal, now: (words: string) => void): Promise<Imported[]> {
  const all: Imported[] = [];
  for (const target of targets) {
    const name = `${target.to.namespace}/${target.to.name}`;
    now(name);
    try {
      all.push(await importTable(file, target, abort, (rows) => now(rows > 0 ? `${name}: ${inLocale(rows)} rows so far` : name)));
    } catch (error) {
      abort.throwIfAborted();
      all.push({ to: target.to, failure: say(error) });
    }
  }
  await readNamespaces();
  if (targets.some(({ to }) => here.value === `${to.owner}/${to.namespace}`)) void readDatasets();
  return all;
}

async function importTable(file: Sent, { to, mode, options }: Target, abort: AbortSignal, now: (rows: number) => void): Promise<Imported> {
  const made = await make(to, abort);
  const id = await ingest(file, to, mode, options, abort).catch(async (error) => {
    if (made) await unmake(to);
    throw error;
  });
  const attempt = await ingested(to, id, abort, (attempt) => now(attempt.processedRows));
  if (attempt.status === 'failed') {
    if (made) await unmake(to);
    return { to, attempt, failure: attempt.statusMessage || 'The file could not be read. Check that it is complete, then try again.' };
  }
  return { to, attempt, metadata: await patiently(abort, () => metadataOf(to)), failure: '' };
}
