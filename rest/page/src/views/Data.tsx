import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { define, mayEdit, metadataOf, remove, Refusal, type Shared } from '../api';
import { adding } from '../data/importing';
import { here, hrefOfDataset, place } from '../place';
import { mayAddTo, unrestricted } from '../rights';
import { columnsWords, rowsWords } from '../rows';
import { datasets, mine, problem, readDatasets, removeNamespace, type Described } from '../store';
import { typeWords } from '../data/types';
import { Confirm, Dialog, Problem, useWork } from './Dialog';
import { Icon, IconButton } from './Icon';
import { Name } from './Name';
import { SharesDialog } from './Shares';

export function DataView(): VNode {
  const [sharing, setSharing] = useState<Shared>();
  const [deleting, setDeleting] = useState(false);
  const { owner, namespace } = place.value!;
  const list = datasets.value;
  const adds = mine(owner) && mayAddTo(namespace);
  return (
    <section class="data">
      <header>
        <h1>{mine(owner) ? namespace : here.value}</h1>
        {mine(owner) && unrestricted.value && <button type="button" onClick={() => setSharing({ owner, name: namespace })}><Icon name="share" /> Share</button>}
        {adds && (
          <>
            {list?.length === 0 && <button type="button" onClick={() => setDeleting(true)}><Icon name="trash" /> Delete</button>}
            <button type="button" class="primary" onClick={() => (adding.value = {})}><Icon name="plus" /> Add a file</button>
          </>
        )}
      </header>
      {!mine(owner) && <p class="hint">{owner} shares this with you.</p>}
      {list === undefined && !problem.value && <p class="waiting" aria-busy="true">Reading…</p>}
      {list?.length === 0 && <p class="empty">Nothing here yet.{adds && ' Drop a file on this page to make a dataset of it.'}</p>}
      {list?.map((d) => <DatasetCard key={`${d.owner}/${d.namespace}/${d.name}`} dataset={d} onShare={() => setSharing(d)} />)}
      {deleting && (
        <Confirm title={`Delete ${namespace}?`} words="The namespace, its board, its verified queries and its shares will be gone, for everybody. Conversations about it are no longer listed." action="Delete"
          onYes={removeNamespace} onClose={() => setDeleting(false)} />
      )}
      {sharing && <SharesDialog what={sharing} onClose={() => setSharing(undefined)} />}
    </section>
  );
}

function DatasetCard({ dataset, onShare }: { dataset: Described; onShare: () => void }): VNode {
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const { metadata, name } = dataset;
  const close = () => setOpen(undefined);
  return (
    <article class="card dataset" data-dataset={name}>
      <header>
        <div>
          <h2><a href={hrefOfDataset(dataset)}>{name}</a></h2>
          <p class="hint">{metadata?.displayName && `${metadata.displayName} · `}{metadata ? `${rowsWords(metadata.rowCount)} · ${columnsWords(metadata.columns.length)}` : 'Reading…'}</p>
        </div>
        {mayEdit(metadata) && <IconButton icon="plus" label={`Add rows to ${name}`} onClick={() => (adding.value = { into: dataset })} />}
        {mayEdit(metadata) && <IconButton icon="edit" label={`Describe ${name}`} onClick={() => setOpen('edit')} />}
        {metadata?.access === 'owner' && unrestricted.value && <IconButton icon="share" label={`Share ${name}`} onClick={onShare} />}
        {metadata?.access === 'owner' && <IconButton icon="trash" label={`Delete ${name}`} onClick={() => setOpen('delete')} />}
      </header>
      {metadata?.dataDescription && <p>{metadata.dataDescription}</p>}
      {metadata && <Columns dataset={dataset} />}
      {open === 'edit' && metadata && <EditDialog dataset={dataset} onClose={close} />}
      {open === 'delete' && (
        <Confirm title={`Delete ${name}?`} words="The dataset, its rows and its shares will be gone, for everybody." action="Delete"
          onYes={async () => { await remove(dataset).catch(unlessGone); await readDatasets(); }} onClose={close} />
      )}
    </article>
  );
}

export function Columns({ dataset }: { dataset: Described }): VNode {
  const { columns, schemaDefinition } = dataset.metadata!;
  return (
    <ul class="columns">
      {columns.map((c) => {
        const words = schemaDefinition?.[c.name];
        return (
          <li>
            <span class="column-name"><Name text={c.name} /></span> <span class="column-type">{typeWords(c.type)}</span>
            {words && <span class="column-words">{words}</span>}
          </li>
        );
      })}
    </ul>
  );
}

export function EditDialog({ dataset, onClose }: { dataset: Described; onClose: () => void }): VNode {
  const { columns, displayName, dataDescription, schemaDefinition } = dataset.metadata!;
  const [called, setCalled] = useState(displayName ?? '');
  const [description, setDescription] = useState(dataDescription ?? '');
  const [fields, setFields] = useState<Record<string, string>>(schemaDefinition ?? {});
  const { busy, problem, work } = useWork();
  const names = [...new Set([...columns.map((c) => c.name), ...Object.keys(schemaDefinition ?? {})])];
  const save = (event: Event) => {
    event.preventDefault();
    void work(async () => {
      const described = Object.fromEntries(Object.entries(fields).filter(([, words]) => words.trim()));
      await define(dataset, { displayName: called.trim() || null, dataDescription: description.trim() || null, schemaDefinition: Object.keys(described).length ? described : null }).catch((error) => whyNot(error, dataset));
      await readDatasets();
      onClose();
    });
  };
  return (
    <Dialog title={`Describe ${dataset.name}`} onClose={onClose}>
      <form onSubmit={save}>
        <p class="hint">The agents read this when they write queries.</p>
        <label for="display-name">What the rows are called in answers</label>
        <input id="display-name" maxLength={100} placeholder="such as orders, or open tickets" value={called} onInput={(event) => setCalled(event.currentTarget.value)} />
        <label for="description">What the rows are</label>
        <textarea id="description" rows={3} maxLength={10000} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
        {names.length > 0 && <h3>Columns</h3>}
        <div class="fields">
          {names.map((name, i) => (
            <>
              <label for={`field-${i}`}><Name text={name} /></label>
              <input id={`field-${i}`} value={Object.hasOwn(fields, name) ? fields[name] : ''}
                onInput={(event) => setFields({ ...fields, [name]: event.currentTarget.value })} />
            </>
          ))}
        </div>
        <Problem text={problem} />
        <footer>
          <button type="button" onClick={onClose}>Cancel</button>
          <button class="primary" disabled={busy}>Save</button>
        </footer>
      </form>
    </Dialog>
  );
}

/** unlessGone takes a dataset that is deleted already for one that was deleted. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof Refusal) || error.status !== 404) throw error;
}

/** whyNot says what a dataset that was seen and is yet not found means. */
async function whyNot(error: unknown, dataset: Described): Promise<never> {
  if (!(error instanceof Refusal) || error.status !== 404) throw error;
  await metadataOf(dataset).catch(() => {
    void readDatasets();
    throw new Error('This dataset is there no more: somebody has deleted it.');
  });
  throw new Error('You may read this dataset, not change it. Ask its owner to make you an editor.');
}
