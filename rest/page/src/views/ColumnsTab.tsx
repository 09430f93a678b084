import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { attemptsOf, mayEdit, profileOf, type Attempt, type ColumnProfile, type ColumnReport } from '../api';
import { adding, type Adding } from '../data/importing';
import { inLocale } from '../locale';
import { unrestricted } from '../rights';
import { cellText, clipped, rangeWords, shown } from '../rows';
import { explain, type Described } from '../store';
import { choicesOf, typeWords } from '../data/types';
import { ReadProblem } from './Dialog';
import { Name } from './Name';
import { columnNotes } from './Report';

/** ColumnsTab shows what the columns of a dataset hold, and what they were read from. */
export function ColumnsTab({ dataset }: { dataset: Described }): VNode {
  const { schemaDefinition, rowCount } = dataset.metadata!;
  const [columns, setColumns] = useState<ColumnProfile[]>();
  const [attempts, setAttempts] = useState<Attempt[]>([]);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const { signal, abort } = controller();
    const read = async () => {
      const [profile, list] = await Promise.all([profileOf(dataset, signal), attemptsOf(dataset, 25, undefined, signal)]);
      setAttempts(list.filter((each) => each.status === 'completed'));
      setColumns(profile.columns);
    };
    read().catch((error) => signal.aborted || setProblem(explain(error)));
    return abort;
  }, []);
  const reports = new Map<string, ColumnReport>();
  for (const attempt of attempts.toReversed()) for (const c of attempt.attributes.columns ?? []) reports.set(c.name, c);
  return (
    <>
      <ReadProblem text={problem} />
      {!columns && !problem && <p class="waiting" aria-busy="true">Reading…</p>}
      {columns && columns.length > 0 && mayEdit(dataset.metadata) && (
        <p class="hint retype">
          A column has the wrong type? <button type="button" class="link" onClick={() => (adding.value = again(dataset, attempts))}>Read the file again</button> with another one.
        </p>
      )}
      <ul class="profiles">
        {columns?.map((c) => {
          const report = reports.get(c.name);
          const notes = report && columnNotes({ ...report, unit: undefined });
          return (
            <li class="card" key={c.name}>
              <h2><Name text={c.name} /></h2>
              <p class="hint">{typeWords(c.type)}{c.unit && ` in ${c.unit}`}</p>
              {schemaDefinition?.[c.name] && <p>{schemaDefinition[c.name]}</p>}
              <Drawing column={c} />
              <Facts column={c} rows={rowCount} />
              {notes && <p class="hint">{notes.charAt(0).toUpperCase() + notes.slice(1)}.</p>}
            </li>
          );
        })}
      </ul>
      {columns?.length === 0 && <p class="empty">There are no columns yet. Add rows from a file.</p>}
    </>
  );
}

function controller() {
  const stop = new AbortController();
  return { signal: stop.signal, abort: () => stop.abort() };
}

/**
 * again gives what reads a dataset's file again: the one that was kept, where all rows came from it, else one that is
 * chosen: a restricted token does not see files that came with another one. Its rows replace those that there are.
 */
function again(dataset: Described, attempts: Attempt[]): Adding {
  const [latest] = attempts;
  const { files = [], options = {}, name = '' } = latest?.attributes ?? {};
  if (!latest || !unrestricted.value || files.length !== 1 || latest.processedRows !== dataset.metadata!.rowCount) return { into: dataset, mode: 'replace' };
  const types = options.types && choicesOf(options.types);
  return { into: dataset, mode: 'replace', again: { sent: files[0]!, filename: name, options: { ...options, ...(types && { types }) } } };
}

/** valueOf writes a value of a column, a number as people do. */
const valueOf = (name: string) => (v: string | number): string => clipped(shown(v, { name, numeric: false }));

function Facts({ column, rows }: { column: ColumnProfile; rows: number }): VNode {
  const { missing, distinct, min, max, length } = column;
  const value = valueOf(column.name);
  const percent = missing && rows ? ` (${inLocale((missing / rows) * 100, { maximumFractionDigits: 1 })}%)` : '';
  return (
    <dl class="facts">
      {missing !== undefined && <><dt>Missing</dt><dd>{inLocale(missing)}{percent}</dd></>}
      {distinct !== undefined && <><dt>Distinct</dt><dd>{inLocale(distinct)}</dd></>}
      {min !== undefined && max !== undefined && <><dt>Minimum</dt><dd>{value(min)}</dd><dt>Maximum</dt><dd>{value(max)}</dd></>}
      {length && min === undefined && <><dt>Length</dt><dd>{inLocale(length.min)} to {inLocale(length.max)} characters</dd></>}
    </dl>
  );
}

const wide = 240;
const tall = 56;

/** Drawing shows a column's values at a glance: a histogram, or the most frequent ones. */
function Drawing({ column }: { column: ColumnProfile }): VNode | null {
  const { histogram, top } = column;
  const value = valueOf(column.name);
  if (histogram?.length) {
    const most = Math.max(...histogram.map((bin) => bin.count), 1);
    const step = wide / histogram.length;
    return (
      <svg class="histogram" viewBox={`0 0 ${wide} ${tall}`} preserveAspectRatio="none" role="img"
        aria-label={`Histogram of ${column.name}, from ${value(histogram[0]!.from)} to ${value(histogram.at(-1)!.to)}`}>
        {histogram.map((bin, i) => {
          const height = bin.count ? Math.max(1.5, (bin.count / most) * tall) : 0;
          return (
            <rect x={i * step + 0.5} y={tall - height} width={Math.max(1, step - 1)} height={height}>
              <title>{`${rangeWords(value(bin.from), value(bin.to))}: ${inLocale(bin.count)}`}</title>
            </rect>
          );
        })}
      </svg>
    );
  }
  if (!top?.length || top[0]!.count < 2) return null;
  const most = top[0]!.count;
  return (
    <ol class="top" aria-label={`Most frequent values of ${column.name}`}>
      {top.slice(0, 5).map((each) => (
        <li>
          <span class="top-value" title={cellText(each.value)}>{value(each.value)}</span>
          <span class="top-count">{inLocale(each.count)}</span>
          <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width={(each.count / most) * 100} height={4} /></svg>
        </li>
      ))}
    </ol>
  );
}
