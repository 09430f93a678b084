import type { VNode } from 'preact';
import { mayEdit, setLinks, type Link, type Links } from '../api';
import { hrefOfDataset } from '../place';
import { rowsWords } from '../rows';
import type { Described } from '../store';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** LinksTab shows which columns of a dataset refer to others. Links that were only found can be accepted. */
export function LinksTab({ dataset, links, onChange }: { dataset: Described; links: Links; onChange: () => Promise<void> }): VNode {
  const { busy, problem, work } = useWork();
  const declared = links.links.filter((link) => link.declared !== false);
  const suggested = [...links.links.filter((link) => link.declared === false), ...(links.suggested ?? [])];
  const save = (list: Link[]) => work(async () => {
    await setLinks(dataset, list);
    await onChange();
  });
  const editable = mayEdit(dataset.metadata);
  return (
    <>
      <Problem text={problem} />
      {declared.length + suggested.length === 0 && <p class="empty">No links to other datasets are known.</p>}
      {declared.length > 0 && (
        <ul class="links" aria-label="Links">
          {declared.map((link) => (
            <li class="card">
              <Words dataset={dataset} link={link} />
              {editable && <IconButton icon="trash" label={`Remove the link to ${link.dataset}`} disabled={busy} onClick={() => void save(declared.filter((each) => each !== link))} />}
            </li>
          ))}
        </ul>
      )}
      {suggested.length > 0 && (
        <>
          <h2>Suggested</h2>
          <p class="hint">Found from names and values.</p>
          <ul class="links" aria-label="Suggested links">
            {suggested.map((link) => (
              <li class="card">
                <Words dataset={dataset} link={link} />
                {editable && <button type="button" disabled={busy} onClick={() => void save([...declared, link])}>Accept</button>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Words({ dataset, link }: { dataset: Described; link: Link }): VNode {
  return (
    <div>
      <p><strong>{link.columns.join(', ')}</strong> → <a href={hrefOfDataset({ ...dataset, name: link.dataset })}>{link.dataset}</a> <strong>{link.toColumns.join(', ')}</strong></p>
      <p class="hint">{[link.label, link.cardinality, link.orphans ? `${rowsWords(link.orphans)} without a match` : ''].filter(Boolean).join(' · ')}</p>
    </div>
  );
}
