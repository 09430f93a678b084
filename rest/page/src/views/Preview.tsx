import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { TablePreview } from '../api';
import { inLocale } from '../locale';
import { cellText, clipped, rowsWords } from '../rows';
import { isNumeric, typeChoices, typeWords } from '../data/types';
import { columnNotes, Warnings } from './Report';
import { Name } from './Name';
import { Cell } from './Rows';

interface TableProps {
  table: TablePreview;
  /** The types that were chosen, by column. */
  types: Record<string, string>;
  onType: (column: string, type: string) => void;
}

/** TableView shows what a table would become: its columns, whose types can be changed, its warnings and first rows. */
export function TableView({ table, types, onType }: TableProps): VNode {
  return (
    <>
      <Warnings list={table.warnings} />
      {table.columns.length > 0 && (
        <>
          <h3>Columns</h3>
          <ColumnsTable table={table} types={types} onType={onType} />
          <h3>{table.rowCount > table.rows.length ? `First ${rowsWords(table.rows.length)} of ${inLocale(table.rowCount)}` : rowsWords(table.rowCount)}</h3>
          <FirstRows table={table} />
        </>
      )}
    </>
  );
}

function ColumnsTable({ table, types, onType }: TableProps): VNode {
  return (
    <div class="scroll table-frame" tabIndex={0} role="region" aria-label={`Columns of ${table.name}`}>
      <table class="columns-table">
        <thead>
          <tr>
            <th scope="col">Column</th><th scope="col">Type</th><th scope="col">Read from</th><th scope="col" class="number">Missing</th><th scope="col">Examples</th>
          </tr>
        </thead>
        <tbody>
          {table.columns.map((c) => (
            <tr key={c.name}>
              <th scope="row"><Name text={c.name} /></th>
              <td>
                <select aria-label={`Type of ${c.name}`} value={types[c.name] ?? ''} onChange={(event) => onType(c.name, event.currentTarget.value)}>
                  <option value="">{types[c.name] ? 'detect' : `${typeWords(c.type)} (detected)`}</option>
                  {typeChoices.map(([name, words]) => <option value={name}>{words}</option>)}
                </select>
              </td>
              <td class="words">{columnNotes(c) || <span class="none">as it is</span>}</td>
              <td class="number">{inLocale(c.missing)}</td>
              <td class="examples">{c.examples.map((value) => clipped(cellText(value))).join(' · ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FirstRows({ table }: { table: TablePreview }): VNode {
  const fields = useMemo(() => table.columns.map((c) => ({ name: c.name, numeric: isNumeric(c.type) })), [table]);
  return (
    <div class="scroll table-frame first-rows" tabIndex={0} role="region" aria-label={`First rows of ${table.name}`}>
      <table>
        <thead><tr>{fields.map((field) => <th scope="col" class={field.numeric ? 'number' : undefined}><Name text={field.name} /></th>)}</tr></thead>
        <tbody>{table.rows.map((row) => <tr>{fields.map((field) => <Cell value={row[field.name]} field={field} />)}</tr>)}</tbody>
      </table>
    </div>
  );
}
