import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { shortName } from '../names';
import { cellText, clipped, shown, type Field, type Sort } from '../rows';

/** Heads has the names of columns. A press on one sorts by it. */
export function Heads({ fields, sort, onSort }: { fields: Field[]; sort: Sort | undefined; onSort: (name: string) => void }): VNode {
  return (
    <>
      {fields.map(({ name, numeric }) => (
        <th scope="col" class={numeric ? 'number' : undefined} aria-sort={sort?.name === name ? sort.order : 'none'}>
          <button type="button" class="sort" title={`Sort by ${name}`} onClick={() => onSort(name)}>{shortName(name)}</button>
        </th>
      ))}
    </>
  );
}

/** Cell shows a value. A long one opens. */
export function Cell({ value, field }: { value: unknown; field: Field }): VNode {
  const [open, setOpen] = useState(false);
  if (value === null || value === undefined) return <td class={field.numeric ? 'number none' : 'none'}>–</td>;
  const full = cellText(value);
  const short = clipped(shown(value, field));
  if (short.length >= full.length || field.numeric) return <td class={field.numeric ? 'number' : undefined} title={full}>{short}</td>;
  return (
    <td class={open ? 'open' : undefined}>
      <button type="button" class="cell" title={open ? 'Show less' : full} aria-expanded={open} onClick={() => setOpen(!open)}>{open ? full : short}</button>
    </td>
  );
}
