import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { runQuery } from '../api';
import { toSpec } from '../chart/spec';
import { copied, toCSV } from '../csv';
import { copy, download } from '../files';
import { inLocale } from '../locale';
import { datasetName } from '../names';
import { place } from '../place';
import { fieldsOf, rowsWords, scores, type Row } from '../rows';
import type { Step } from '../run';
import { format, piecesOf } from '../sql';
import { ChartView } from './Chart';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { Name } from './Name';
import { Cell } from './Rows';
import { useSave } from './Save';

type View = 'Chart' | 'Table';

/** Result shows rows, as the server's chart of them or as a table, how the question was read, and the query; of a query that was run by hand its rows alone. What is saved is the query that these rows are from; a likely one must be confirmed first. */
export function Result({ step, name, as }: { step: Step; name: string; as?: 'ran' | 'pinned' }): VNode {
  const { rows, chart } = step;
  const original = useMemo(() => format(step.query), [step.query]);
  const [edited, edit] = useState<string>();
  const query = edited ?? original;
  const save = useSave(name, as === 'ran' ? step.query : original);
  const [chosen, choose] = useState<View>('Chart');
  const [open, setOpen] = useState(false);
  const view = chart ? chosen : 'Table';
  const file = datasetName(name).slice(0, 60);
  return (
    <div class="result">
      {rows && (
        <div class="result-bar">
          {chart && (
            <div class="segments" role="group" aria-label="Show as">
              {(['Chart', 'Table'] as const).map((each) => <button type="button" aria-pressed={view === each} onClick={() => choose(each)}>{each}</button>)}
            </div>
          )}
          <span class="result-count">{countWords(rows.length, step)}</span>
          {as !== 'pinned' && !step.likely && save.buttons}
          <CopyButton label="Copy the rows" {...cells(rows)} />
          <IconButton icon="download" label="Download the rows" onClick={() => download(`${file}.csv`, 'text/csv', toCSV(rows))} />
        </div>
      )}
      {save.problem}
      {view === 'Chart' && chart && rows && <ChartView chart={chart} rows={rows} name={name} file={file} />}
      {view === 'Table' && rows && <Table rows={rows} />}
      {step.reasoning && <p class="reasoning">{step.reasoning}</p>}
      {as !== 'ran' && step.query && (
        <details class="query-part" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Query</summary>
          {open && (
            <QueryView sql={query} original={original} question={name} onInput={edit}>
              <CopyButton label="Copy the query" text={() => query} />
              <IconButton icon="download" label="Download the query" onClick={() => download(`${file}.sql`, 'application/sql', `${query}\n`)} />
            </QueryView>
          )}
        </details>
      )}
    </div>
  );
}

interface QueryProps {
  sql: string;
  original: string;
  question: string;
  onInput: (sql: string) => void;
  /** More buttons. */
  children: ComponentChildren;
}

/** QueryView shows a query, which can be changed and run. Its rows are shown below. */
function QueryView({ sql, original, question, onInput, children }: QueryProps): VNode {
  const [ran, setRan] = useState<Step>();
  const { busy, problem, work } = useWork();
  const pieces = useMemo(() => piecesOf(sql), [sql]);
  const run = () => busy || work(async () => {
    setRan(undefined);
    const { owner, namespace } = place.value!;
    const { data, metadata, chart } = await runQuery({ owner, name: namespace }, sql, question);
    setRan({ id: '', instruction: '', reasoning: '', query: sql, rows: data, truncated: metadata.truncated, total: metadata.totalRows, chart: toSpec(chart) });
  });
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void run();
  };
  return (
    <>
      <div class="query editable">
        <pre aria-hidden="true"><code>{pieces.map(({ kind, text }) => (/keyword|text|number|comment/.test(kind) ? <span class={`sql-${kind}`}>{text}</span> : text))}{'\n'}</code></pre>
        <textarea aria-label="Query" spellcheck={false} autocapitalize="off" autocomplete="off" value={sql} onInput={(event) => onInput(event.currentTarget.value)} onKeyDown={onKey} />
      </div>
      <div class="query-bar">
        <button type="button" class="primary" title="Run (Ctrl+Enter)" aria-keyshortcuts="Control+Enter" disabled={busy || !sql.trim()} onClick={() => void run()}>Run</button>
        {sql !== original && <button type="button" onClick={() => onInput(original)}>Reset</button>}
        <span class="hint" role="status">{busy ? 'Running…' : ''}</span>
        {children}
      </div>
      <Problem text={problem} />
      {ran && <Result step={ran} name={question} as="ran" />}
    </>
  );
}

function countWords(count: number, { truncated, total }: Step): string {
  if (total) return `the first ${inLocale(count)} of ${rowsWords(total)}`;
  return truncated ? `the first ${rowsWords(count)}; there are more` : rowsWords(count);
}

/** cells gives rows as spreadsheets take them from the clipboard. */
function cells(rows: Row[]): { text: () => string; html: () => string } {
  const table = () => copied(fieldsOf(rows).map((field) => field.name), rows);
  return { text: () => table().text, html: () => table().html };
}

function CopyButton({ label, text, html }: { label: string; text: () => string; html?: () => string }): VNode {
  const [done, setDone] = useState(false);
  const press = async () => setDone(await copy(text(), html?.()));
  return <IconButton icon={done ? 'check' : 'copy'} label={done ? 'Copied' : label} onClick={() => void press()} onBlur={() => setDone(false)} />;
}

const page = 200;

function Table({ rows }: { rows: Row[] }): VNode {
  const [most, setMost] = useState(page);
  const fields = useMemo(() => fieldsOf(rows), [rows]);
  const score = useMemo(() => scores(rows), [rows]);
  if (rows.length === 0) return <p class="hint">No rows. Try other words, or see the query.</p>;
  return (
    <>
      <div class="scroll table-frame" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {fields.map((field) => <th scope="col" class={field.numeric ? 'number' : undefined}><Name text={field.name} /></th>)}
              {score && <th scope="col" class="number">score</th>}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row, i) => (
              <tr>
                {fields.map((field) => <Cell value={row[field.name]} field={field} />)}
                {score && <td class="number">{inLocale(score[i]!, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + page)}>
          Show {Math.min(page, rows.length - most)} more of {inLocale(rows.length - most)}
        </button>
      )}
    </>
  );
}
