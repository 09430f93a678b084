import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { query, rowsOf } from '../api';
import { copied } from '../csv';
import { comparisons, countQuery, readFilter, rowsQuery, type Comparison, type Filter } from '../data/filter';
import { copy } from '../files';
import { inLocale } from '../locale';
import { shortName } from '../names';
import { nextSort, type Row, type Sort } from '../rows';
import { explain, type Described } from '../store';
import { isNumeric } from '../data/types';
import { ReadProblem } from './Dialog';
import { IconButton } from './Icon';
import { Cell, Heads } from './Rows';

const limit = 100;

/** RowsTab shows the rows of a dataset in pages, sorted and filtered. */
export function RowsTab({ dataset }: { dataset: Described }): VNode {
  const { columns, rowCount } = dataset.metadata!;
  const [offset, setOffset] = useState(0);
  const [sort, setSort] = useState<Sort>();
  const [filter, setFilter] = useState<Filter>();
  const [shown, setShown] = useState<{ rows: Row[]; total: number }>();
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const read = async () => {
      const page = { limit, offset, sort: sort?.name ?? '', order: sort?.order === 'descending' ? 'desc' : 'asc' } as const;
      const where = filter && readFilter(filter, columns);
      const [{ data }, total] = await Promise.all([
        where ? query(dataset, rowsQuery(dataset.name, where, page), signal) : rowsOf(dataset, page, signal),
        where ? query(dataset, countQuery(dataset.name, where), signal).then((found) => Number(found.data[0]?.n)) : rowCount,
      ]);
      setShown({ rows: data, total });
      setProblem('');
    };
    read().catch((error) => {
      if (signal.aborted) return;
      setShown({ rows: [], total: 0 });
      setProblem(explain(error));
    });
    return () => stop.abort();
  }, [offset, sort, filter]);
  const fields = useMemo(() => columns.map((c) => ({ name: c.name, numeric: isNumeric(c.type) })), [columns]);
  const sortBy = (name: string) => {
    setOffset(0);
    setSort(nextSort(sort, name));
  };
  const copyRows = async () => {
    const { text, html } = copied(fields.map((field) => field.name), shown!.rows);
    setDone(await copy(text, html));
  };
  if (columns.length === 0) return <p class="empty">There are no rows yet. Add some from a file.</p>;
  const rows = shown?.rows ?? [];
  const last = offset + rows.length;
  return (
    <>
      <div class="rows-bar">
        <FilterForm columns={fields.map((field) => field.name)} onFilter={(next) => { setOffset(0); setFilter(next); }} />
        <div class="pager">
          <span role="status">{shown && (rows.length === 0 ? 'No rows' : `Rows ${inLocale(offset + 1)}–${inLocale(last)} of ${inLocale(shown.total)}`)}</span>
          <IconButton icon={done ? 'check' : 'copy'} label={done ? 'Copied' : 'Copy these rows'} disabled={!shown} onClick={() => void copyRows()} onBlur={() => setDone(false)} />
          <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - limit))}>Previous</button>
          <button type="button" disabled={!shown || last >= shown.total || rows.length === 0} onClick={() => setOffset(last)}>Next</button>
        </div>
      </div>
      <ReadProblem text={problem} />
      <div class="scroll table-frame rows-frame" tabIndex={0} role="region" aria-label={`Rows of ${dataset.name}`} aria-busy={!shown && !problem}>
        <table>
          <thead>
            <tr><Heads fields={fields} sort={sort} onSort={sortBy} /></tr>
          </thead>
          <tbody>{rows.map((row, i) => <tr key={`${offset} ${i}`}>{fields.map((field) => <Cell value={row[field.name]} field={field} />)}</tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

function FilterForm({ columns, onFilter }: { columns: string[]; onFilter: (filter: Filter | undefined) => void }): VNode {
  const [column, setColumn] = useState(columns[0]!);
  const [is, setIs] = useState<Comparison>('contains');
  const [value, setValue] = useState('');
  const [on, setOn] = useState(false);
  const apply = (event: Event) => {
    event.preventDefault();
    setOn(true);
    onFilter({ column, is, value });
  };
  const clear = () => {
    setOn(false);
    setValue('');
    onFilter(undefined);
  };
  return (
    <form class="filter" onSubmit={apply}>
      <select aria-label="Column" value={column} onChange={(event) => setColumn(event.currentTarget.value)}>{columns.map((each) => <option value={each}>{shortName(each)}</option>)}</select>
      <select aria-label="Comparison" value={is} onChange={(event) => setIs(event.currentTarget.value as Comparison)}>
        {comparisons.map(([each, words]) => <option value={each}>{words}</option>)}
      </select>
      {is !== 'missing' && <input aria-label="Value" required placeholder="Value" value={value} onInput={(event) => setValue(event.currentTarget.value)} />}
      <button>Filter</button>
      {on && <button type="button" onClick={clear}>Show all</button>}
    </form>
  );
}
