import type { VNode } from 'preact';
import type { ColumnReport, Report, Warning } from '../api';
import { typeWords } from '../data/types';
import { inLocale } from '../locale';
import { Name } from './Name';

/** ReportView says how a file was read: what each column became, and what to look at. */
export function ReportView({ report }: { report: Partial<Report> }): VNode {
  const { columns = [], warnings = [] } = report;
  const how = howWords(report);
  return (
    <>
      {how && <p class="hint">{how}</p>}
      <Warnings list={warnings} />
      {columns.length > 0 && (
        <div class="scroll table-frame" tabIndex={0} role="region" aria-label="What the columns became">
          <table class="columns-table">
            <thead><tr><th scope="col">Column</th><th scope="col">Type</th><th scope="col">Read from</th><th scope="col" class="number">Missing</th></tr></thead>
            <tbody>
              {columns.map((c) => (
                <tr key={c.name}>
                  <th scope="row"><Name text={c.name} /></th>
                  <td>{typeWords(c.type)}</td>
                  <td class="words">{columnNotes(c) || <span class="none">as it is</span>}</td>
                  <td class="number">{inLocale(c.missing)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** columnNotes says what a column was read from; '' when its cells were read as they are. */
export function columnNotes(c: ColumnReport): string {
  const notes = [c.from ? `written as ${c.from}` : '', c.unit ? `in ${c.unit}` : ''];
  if (c.misfits) notes.push(`${inLocale(c.misfits)} ${c.misfits === 1 ? 'cell' : 'cells'} did not fit a narrower type${linesWords(c.misfitLines)}`);
  return notes.filter(Boolean).join(', ');
}

const linesWords = (lines: number[] | undefined): string =>
  lines?.length ? ` (${lines.length === 1 ? 'line' : 'lines'} ${lines.map((line) => inLocale(line)).join(', ')})` : '';

const delimiters: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

/** howWords says what was detected of a text file. */
export function howWords({ encoding, delimiter, headerRow }: Partial<Report>): string {
  const words = [
    encoding ? `encoding ${encoding.toUpperCase()}` : '',
    delimiter ? `fields separated by ${delimiters[delimiter] ?? `“${delimiter}”`}` : '',
    headerRow ? `column names in row ${headerRow}` : '',
  ].filter(Boolean);
  return words.length ? `Read with ${words.join(', ')}.` : '';
}

const shownWarnings = 50;

export function Warnings({ list }: { list: Warning[] }): VNode | null {
  if (list.length === 0) return null;
  return (
    <ul class="warnings" aria-label="Warnings">
      {list.slice(0, shownWarnings).map((w) => (
        <li>
          {w.line ? <strong>Line {inLocale(w.line)}: </strong> : null}
          {w.column && <strong><Name text={w.column} />: </strong>}
          {w.message}
        </li>
      ))}
      {list.length > shownWarnings && <li>{inLocale(list.length - shownWarnings)} more warnings are in the ingestion history.</li>}
    </ul>
  );
}
