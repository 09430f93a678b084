import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { metadataOf, say, type Dataset } from '../api';
import { ingested } from '../ingestion';
import { datasetName } from '../names';
import { go, here, hrefOf, place } from '../place';
import { rowsWords } from '../rows';
import { user } from '../session';
import { datasets, mine, namespaces, readDatasets, readNamespaces, type Described } from '../store';
import { make, unmake, upload } from '../upload';
import { Columns } from './Data';
import { Dialog, Problem } from './Dialog';
import { Icon } from './Icon';

/** What becomes of the file. */
type Stage =
  | { is: 'choosing' }
  | { is: 'sending'; bytes: number }
  | { is: 'reading'; rows: number }
  | { is: 'done'; dataset: Described; rows: number }
  | { is: 'failed'; why: string };

const formats = '.csv,.tsv,.json,.jsonl,.ndjson,.parquet,.txt,.md,.gz';

export function UploadDialog({ chosen, onClose }: { chosen: File | undefined; onClose: () => void }): VNode {
  const [file, setFile] = useState(chosen);
  const [stage, setStage] = useState<Stage>({ is: 'choosing' });
  const [tried, setTried] = useState<Dataset>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const start = async (file: File, to: Dataset) => {
    setTried(to);
    setStage({ is: 'sending', bytes: 0 });
    try {
      setStage(await bring(file, to, stop.current.signal, setStage));
    } catch (error) {
      if (!stop.current.signal.aborted) setStage({ is: 'failed', why: say(error) });
    }
  };
  return (
    <Dialog title="Add a file" onClose={onClose}>
      {(stage.is === 'choosing' || stage.is === 'failed') && (
        <Choice file={file} tried={tried} onFile={setFile} problem={stage.is === 'failed' ? stage.why : ''} onStart={(file, to) => void start(file, to)} />
      )}
      {stage.is === 'sending' && file && <Sending file={file} bytes={stage.bytes} />}
      {stage.is === 'reading' && (
        <div role="status">
          <p><span class="spinner" /> Reading the rows{stage.rows > 0 && `: ${stage.rows.toLocaleString('en')} so far`}…</p>
          <progress aria-label="Reading" />
        </div>
      )}
      {stage.is === 'done' && <Done {...stage} onClose={onClose} />}
    </Dialog>
  );
}

/** bring sends a file, waits until its rows are in, and says what was found in it. */
async function bring(file: File, to: Dataset, signal: AbortSignal, now: (stage: Stage) => void): Promise<Stage> {
  const made = await make(to, signal);
  const id = await upload(file, to, (bytes) => now({ is: 'sending', bytes }), signal).catch(async (error) => {
    if (made) await unmake(to);
    throw error;
  });
  now({ is: 'reading', rows: 0 });
  const end = await ingested(to, id, signal, (attempt) => now({ is: 'reading', rows: attempt.processedRows }));
  if (made && end.status === 'failed') await unmake(to);
  await readNamespaces();
  if (here.value === `${to.owner}/${to.namespace}`) void readDatasets();
  if (end.status === 'failed') return { is: 'failed', why: end.statusMessage || 'The file could not be read. See that it is whole, then try again.' };
  return { is: 'done', dataset: { ...to, metadata: await metadataOf(to) }, rows: end.processedRows };
}

interface ChoiceProps {
  file: File | undefined;
  /** What was typed before, when that failed. */
  tried: Dataset | undefined;
  problem: string;
  onFile: (file: File) => void;
  onStart: (file: File, to: Dataset) => void;
}

function Choice({ file, tried, problem, onFile, onStart }: ChoiceProps): VNode {
  const own = (namespaces.value ?? []).filter((n) => mine(n.owner)).map((n) => n.name);
  const at = place.value && mine(place.value.owner) ? place.value.namespace : undefined;
  const [namespace, setNamespace] = useState(tried?.namespace ?? at ?? own[0] ?? 'main');
  const [name, setName] = useState(tried?.name ?? (file ? datasetName(file.name) : ''));
  const take = (file: File | undefined) => {
    if (!file) return;
    onFile(file);
    setName(datasetName(file.name));
  };
  const exists = namespace === at && datasets.value?.some((d) => d.name.toLowerCase() === name.toLowerCase());
  const submit = (event: Event) => {
    event.preventDefault();
    if (file) onStart(file, { owner: user.value || 'self', namespace: namespace.trim(), name: name.trim() });
  };
  return (
    <form onSubmit={submit}>
      <label class="drop" for="file">
        <Icon name="file" />
        {file ? <span><strong>{file.name}</strong> {sizeWords(file.size)}</span> : <span>Drop a file here, or choose one: CSV, TSV, JSON, Parquet, text, Markdown</span>}
        <input id="file" type="file" accept={formats} onChange={(event) => take(event.currentTarget.files?.[0])} />
      </label>
      <div class="fields">
        <label for="namespace">Namespace</label>
        <input id="namespace" required maxLength={128} list="namespaces" autocomplete="off" value={namespace} onInput={(event) => setNamespace(event.currentTarget.value)} />
        <datalist id="namespaces">{own.map((each) => <option value={each} />)}</datalist>
        <label for="dataset">Dataset</label>
        <input id="dataset" required maxLength={128} autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </div>
      {exists && <p class="hint">There is a dataset of that name: the rows will be added to it.</p>}
      <Problem text={file?.size === 0 ? 'This file is empty. Choose another one.' : problem} />
      <footer><button class="primary" disabled={!file?.size}>Upload</button></footer>
    </form>
  );
}

function Sending({ file, bytes }: { file: File; bytes: number }): VNode {
  const percent = file.size ? Math.floor((bytes / file.size) * 100) : 0;
  return (
    <div>
      <p role="status"><strong>{file.name}</strong>: {percent}% of {sizeWords(file.size)}</p>
      <progress aria-label="Uploading" max={file.size} value={bytes} />
    </div>
  );
}

function Done({ dataset, rows, onClose }: { dataset: Described; rows: number; onClose: () => void }): VNode {
  const all = dataset.metadata!.rowCount;
  const added = all > rows;
  const ask = () => {
    onClose();
    go(hrefOf(dataset.owner, dataset.namespace));
  };
  return (
    <div class="done">
      <p role="status">
        <Icon name="check" /> {rowsWords(rows)} {added ? (rows === 1 ? 'was added to' : 'were added to') : rows === 1 ? 'is in' : 'are in'}{' '}
        <strong>{dataset.namespace}/{dataset.name}</strong>{added && <>, {rowsWords(all)} in all</>}. {added ? 'Its columns:' : 'These columns were found:'}
      </p>
      <Columns dataset={dataset} />
      <footer>
        <button type="button" onClick={onClose}>Close</button>
        <button type="button" class="primary" onClick={ask}>Ask about it</button>
      </footer>
    </div>
  );
}

function sizeWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${(bytes / 1024 ** power).toLocaleString('en', { maximumFractionDigits: 1 })} ${units[power]}`;
}
