import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { downloadOf, mayEdit, remove, rename, type DownloadFormat } from '../api';
import { save } from '../files';
import { adding } from '../data/importing';
import { go, hrefOf, hrefOfDataset, place } from '../place';
import { unrestricted } from '../rights';
import { columnsWords, rowsWords } from '../rows';
import { editsNamespace } from '../saved';
import { datasets, mine, problem, readAt, readDatasets, type Described } from '../store';
import { ColumnsTab } from './ColumnsTab';
import { EditDialog, unlessGone } from './Data';
import { Confirm, Dialog, Problem, useWork } from './Dialog';
import { HistoryTab } from './History';
import { Icon, IconButton } from './Icon';
import { LinksTab } from './LinksTab';
import { RowsTab } from './RowsTab';
import { SharesDialog } from './Shares';

const tabs = ['Rows', 'Columns', 'Links', 'History'] as const;
type Tab = (typeof tabs)[number];

/** DatasetView shows what is in a dataset, and where it came from. */
export function DatasetView({ name }: { name: string }): VNode {
  const { owner, namespace } = place.value!;
  const dataset = datasets.value?.find((d) => d.name.toLowerCase() === name.toLowerCase());
  const list = <a href={hrefOf(owner, namespace, 'data')}>{mine(owner) ? namespace : `${owner}/${namespace}`}</a>;
  const key = `${owner}/${namespace}/${name}`;
  const seen = useRef('');
  if (dataset) seen.current = key;
  const absent = datasets.value && !dataset && readAt.value === place.value;
  return (
    <section class="data dataset-view">
      <nav class="crumbs" aria-label="Where this is">{list} <span aria-hidden="true">/</span> {name}</nav>
      {dataset?.metadata ? <Shown key={key} dataset={dataset} />
        : <><h1>{name}</h1>{absent ? <p class="empty">{seen.current === key ? 'This dataset was deleted or renamed.' : `There is no dataset ${name} here that you may read.`}</p> : !problem.value && <p class="waiting" aria-busy="true">Reading…</p>}</>}
    </section>
  );
}

type Open = 'download' | 'edit' | 'rename' | 'share' | 'delete';

function Shown({ dataset }: { dataset: Described }): VNode {
  const metadata = dataset.metadata!;
  const [tab, setTab] = useState<Tab>('Rows');
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const owns = metadata.access === 'owner';
  return (
    <>
      <header>
        <div>
          <h1>{dataset.name}</h1>
          <p class="hint">{metadata.displayName && `${metadata.displayName} · `}{rowsWords(metadata.rowCount)} · {columnsWords(metadata.columns.length)}{mayEdit(metadata) ? '' : ' · you can read it'}</p>
        </div>
        <div class="actions">
          <IconButton icon="download" label="Download" disabled={metadata.columns.length === 0} onClick={() => setOpen('download')} />
          {mayEdit(metadata) && <IconButton icon="edit" label="Describe" onClick={() => setOpen('edit')} />}
          {mayEdit(metadata) && editsNamespace.value && <IconButton icon="rename" label="Rename" onClick={() => setOpen('rename')} />}
          {owns && unrestricted.value && <IconButton icon="share" label="Share" onClick={() => setOpen('share')} />}
          {owns && <IconButton icon="trash" label="Delete" onClick={() => setOpen('delete')} />}
          {mayEdit(metadata) && <button type="button" class="primary" onClick={() => (adding.value = { into: dataset })}><Icon name="plus" /> Add rows</button>}
        </div>
      </header>
      {metadata.dataDescription && <p>{metadata.dataDescription}</p>}
      <div class="segments tabs" role="group" aria-label="Show">
        {tabs.map((each) => <button type="button" aria-pressed={tab === each} onClick={() => setTab(each)}>{each}</button>)}
      </div>
      {tab === 'Rows' && <RowsTab key={metadata} dataset={dataset} />}
      {tab === 'Columns' && <ColumnsTab key={metadata} dataset={dataset} />}
      {tab === 'Links' && <LinksTab key={metadata} dataset={dataset} />}
      {tab === 'History' && <HistoryTab key={metadata} dataset={dataset} />}
      {open === 'download' && <DownloadDialog dataset={dataset} onClose={close} />}
      {open === 'edit' && <EditDialog dataset={dataset} onClose={close} />}
      {open === 'rename' && <RenameDialog dataset={dataset} onClose={close} />}
      {open === 'share' && <SharesDialog what={dataset} onClose={close} />}
      {open === 'delete' && (
        <Confirm title={`Delete ${dataset.name}?`} words="The dataset, its rows and its shares will be gone, for everybody." action="Delete"
          onYes={async () => {
            await remove(dataset).catch(unlessGone);
            go(hrefOf(dataset.owner, dataset.namespace, 'data'));
            await readDatasets();
          }} onClose={close} />
      )}
    </>
  );
}

function DownloadDialog({ dataset, onClose }: { dataset: Described; onClose: () => void }): VNode {
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const { busy, problem, work } = useWork();
  const get = (format: DownloadFormat) => void work(async () => {
    const file = await downloadOf(dataset, format, stop.current.signal);
    if (stop.current.signal.aborted) return;
    save(`${dataset.name}.${format}`, file);
    onClose();
  });
  return (
    <Dialog title={`Download ${dataset.name}`} onClose={onClose}>
      <p>One file with {rowsWords(dataset.metadata!.rowCount)}. CSV is for spreadsheets. Parquet is for programs: it is smaller and keeps the types.</p>
      <p class="hint" role="status">{busy ? 'The server writes the file…' : ''}</p>
      <Problem text={problem} />
      <footer>
        <button type="button" onClick={onClose}>Cancel</button>
        <button type="button" disabled={busy} onClick={() => get('parquet')}>Parquet</button>
        <button type="button" class="primary" disabled={busy} onClick={() => get('csv')}>CSV</button>
      </footer>
    </Dialog>
  );
}

function RenameDialog({ dataset, onClose }: { dataset: Described; onClose: () => void }): VNode {
  const [name, setName] = useState(dataset.name);
  const { busy, problem, work } = useWork();
  const submit = (event: Event) => {
    event.preventDefault();
    void work(async () => {
      if (name.trim() !== dataset.name) await rename(dataset, name.trim());
      onClose();
      go(hrefOfDataset({ ...dataset, name: name.trim() }));
      await readDatasets();
    });
  };
  return (
    <Dialog title={`Rename ${dataset.name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <label for="new-name">New name</label>
        <input id="new-name" required maxLength={128} autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <p class="hint">Questions and queries use the new name from then on.</p>
        <Problem text={problem} />
        <footer>
          <button type="button" onClick={onClose}>Cancel</button>
          <button class="primary" disabled={busy}>Rename</button>
        </footer>
      </form>
    </Dialog>
  );
}
