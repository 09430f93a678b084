import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { linksOf, mayEdit, setLinks, type Link, type Links } from '../api';
import { shortName } from '../names';
import { hrefOfDataset } from '../place';
import { rowsWords } from '../rows';
import { datasets, explain, type Described } from '../store';
import { Problem, ReadProblem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** LinksTab shows which columns of a dataset refer to others. Links that were only found can be accepted, others added. */
export function LinksTab({ dataset }: { dataset: Described }): VNode {
  const [links, setFound] = useState<Links>();
  const [failure, setFailure] = useState('');
  const [stop] = useState(() => new AbortController());
  const { busy, problem, work } = useWork();
  const read = async () => setFound(await linksOf(dataset, stop.signal));
  useEffect(() => {
    read().catch((error) => stop.signal.aborted || setFailure(explain(error)));
    return () => stop.abort();
  }, []);
  const declared = links?.links ?? [];
  const suggested = links?.suggested ?? [];
  const save = (list: Link[]) => work(async () => {
    await setLinks(dataset, list);
    await read();
  });
  const editable = mayEdit(dataset.metadata);
  return (
    <>
      <p class="hint">A link says that rows of two datasets belong together where their columns have equal values. Agents join by them.</p>
      <ReadProblem text={failure || problem} />
      {!links && !failure && <p class="waiting" aria-busy="true">Measuring…</p>}
      {links && declared.length + suggested.length === 0 && <p class="empty">No links to other datasets are known.</p>}
      <ul class="links" aria-label="Links">
        {declared.map((link) => (
          <li class="card">
            <Words dataset={dataset} link={link} />
            {editable && <IconButton icon="trash" label={`Remove the link to ${link.dataset}`} disabled={busy} onClick={() => void save(declared.filter((each) => each !== link))} />}
          </li>
        ))}
      </ul>
      {suggested.length > 0 && <h2>Suggested</h2>}
      <ul class="links" aria-label="Suggested links">
        {suggested.map((link) => (
          <li class="card">
            <Words dataset={dataset} link={link} />
            {editable && <button type="button" disabled={busy} onClick={() => void save([...declared, link])}>Accept</button>}
          </li>
        ))}
      </ul>
      {links && editable && <AddLink dataset={dataset} busy={busy} onAdd={(link) => void save([...declared, link])} />}
    </>
  );
}

function Words({ dataset, link }: { dataset: Described; link: Link }): VNode {
  const { hits, orphans } = link;
  const measured = typeof orphans === 'number' && [rowsWords(hits ?? 0) + ' with a match', orphans > 0 && `${rowsWords(orphans)} without one`].filter(Boolean).join(', ');
  return (
    <div>
      <p>{link.columns.join(', ')} → <a href={hrefOfDataset({ ...dataset, name: link.dataset })}>{link.dataset}</a> {link.toColumns.join(', ')}</p>
      <p class="hint">{[link.label, link.cardinality, measured].filter(Boolean).join(' · ')}</p>
      <Problem text={link.problem ?? ''} />
    </div>
  );
}

function AddLink({ dataset, busy, onAdd }: { dataset: Described; busy: boolean; onAdd: (link: Link) => void }): VNode | null {
  const others = (datasets.value ?? []).filter((d) => d.name !== dataset.name && d.metadata?.columns.length);
  const columns = dataset.metadata!.columns.map((c) => c.name);
  const [column, setColumn] = useState(columns[0]);
  const [name, setName] = useState(others[0]?.name ?? '');
  const to = (others.find((d) => d.name === name) ?? others[0])?.metadata!.columns.map((c) => c.name) ?? [];
  const [chosen, setChosen] = useState('');
  const toColumn = to.includes(chosen) ? chosen : to[0];
  const [label, setLabel] = useState('');
  if (!column || !toColumn) return null;
  const add = (event: Event) => {
    event.preventDefault();
    onAdd({ columns: [column], dataset: name || others[0]!.name, toColumns: [toColumn], label: label.trim() });
    setLabel('');
  };
  return (
    <form class="filter add-link" onSubmit={add}>
      <Select label="Column" value={column} of={columns} onChange={setColumn} />
      <span aria-hidden="true">→</span>
      <Select label="Other dataset" value={name} of={others.map((d) => d.name)} onChange={setName} />
      <Select label="Column of the other dataset" value={toColumn} of={to} onChange={setChosen} />
      <input aria-label="What the link means" maxLength={200} placeholder="What it means (optional)" value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
      <button disabled={busy}>Add a link</button>
    </form>
  );
}

function Select({ label, value, of, onChange }: { label: string; value: string; of: string[]; onChange: (value: string) => void }): VNode {
  return <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>{of.map((each) => <option value={each}>{shortName(each)}</option>)}</select>;
}
