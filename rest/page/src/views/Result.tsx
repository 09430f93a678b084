import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { runQuery } from '../api';
import type { Place } from '../chart/places';
import { toSpec } from '../chart/spec';
import { copied, toCSV } from '../csv';
import { copy, download } from '../files';
import { inLocale } from '../locale';
import { datasetName } from '../names';
import { place } from '../place';
import { fieldsOf, figureOf, nextSort, rowsWords, scores, shown, sorted, title, type Field, type Figure, type Row, type Sort } from '../rows';
import { withoutTechnical, type Step } from '../run';
import { format, piecesOf, rowsBehind } from '../sql';
import { ChartView, type Action } from './Chart';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { Cell, Heads } from './Rows';
import { useSave } from './Save';

type View = 'Chart' | 'Table';

/** Result shows rows, as the server's chart of them or as a table, how the question was read, and the query; of a query that was run by hand its rows alone. What is saved is the query that these rows are from; a likely one must be confirmed first. */
export function Result({ step, name, as, onAsk }: { step: Step; name: string; as?: 'ran' | 'pinned'; onAsk?: (question: string) => void }): VNode {
  const { rows, chart } = step;
  const original = useMemo(() => format(step.query), [step.query]);
  const [edited, edit] = useState<string>();
  const query = edited ?? original;
  const save = useSave(name, as === 'ran' ? step.query : original);
  const [chosen, choose] = useState<View>('Chart');
  const [open, setOpen] = useState(false);
  const view = chart ? chosen : 'Table';
  const reading = withoutTechnical(step.reasoning);
  const behind = useBehind(step, onAsk);
  const figure = useMemo(() => rows && figureOf(rows), [rows]);
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
      {view === 'Chart' && chart && rows && <ChartView chart={chart} rows={rows} name={name} file={file} actions={behind.actions} />}
      {view === 'Chart' && behind.view}
      {view === 'Table' && rows && (figure ? <FigureView figure={figure} row={rows[0]!} /> : <Table rows={rows} />)}
      {reading.text && <p class="reasoning">{reading.text}</p>}
      {as !== 'ran' && step.query && (
        <details class="query-part" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Query</summary>
          {open && reading.technical && <p class="hint">{reading.technical}</p>}
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

const noActions = (): Action[] => [];

/** Rows shows rows alone: as their chart, as a figure, or as a table. */
export function Rows({ step: { rows = [], chart }, name }: { step: Step; name: string }): VNode {
  const figure = figureOf(rows);
  if (chart) return <ChartView chart={chart} rows={rows} name={name} file={datasetName(name).slice(0, 60)} actions={noActions} />;
  return figure ? <FigureView figure={figure} row={rows[0]!} /> : <Table rows={rows} />;
}

/** useBehind gives what can be done with a place of the chart: to see the rows that it was computed from, or to ask the question of it alone. */
function useBehind(step: Step, onAsk?: (question: string) => void): { actions: (place: Place) => Action[]; view: VNode | null } {
  const [ran, setRan] = useState<{ title: string; step: Step }>();
  const { busy, problem, work } = useWork();
  const show = (sql: string, title: string) => work(async () => {
    setRan(undefined);
    setRan({ title, step: { ...(await run(sql, title)), chart: undefined } });
  });
  const actions = ({ of }: Place): Action[] => {
    const sql = of && rowsBehind(step.query, of.column, of.value);
    return [
      ...(sql ? [{ label: 'Show these rows', act: () => void (busy || show(sql, `${of.title}: ${of.label}`)) }] : []),
      ...(onAsk && of && of.value !== null ? [{ label: 'Only this', act: () => onAsk(`Only ${only(of)}`) }] : []),
    ];
  };
  const view = (
    <>
      {busy && <p role="status"><span class="spinner" /> Reading the rows…</p>}
      <Problem text={problem} />
      {ran && (
        <section class="behind" aria-label={`Rows of ${ran.title}`}>
          <header><h3>{ran.title}</h3><IconButton icon="close" label="Hide these rows" onClick={() => setRan(undefined)} /></header>
          <Result step={ran.step} name={ran.title} as="pinned" />
        </section>
      )}
    </>
  );
  return { actions, view };
}

/** only names a value in a question: a short number or a truth value alone says nothing. */
const only = ({ title, label }: NonNullable<Place['of']>): string => (/^(-?\d{1,3}|true|false)$/i.test(label) ? `${title.toLowerCase()} ${label}` : label);

/** run runs a query in the namespace that one is in. */
async function run(sql: string, question: string): Promise<Step> {
  const { owner, namespace } = place.value!;
  const { data, metadata, chart } = await runQuery({ owner, name: namespace }, sql, question);
  return { id: '', instruction: '', reasoning: '', query: sql, rows: data, truncated: metadata.truncated, total: metadata.totalRows, chart: toSpec(chart) };
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
  const start = () => busy || work(async () => {
    setRan(undefined);
    setRan(await run(sql, question));
  });
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void start();
  };
  return (
    <>
      <div class="query editable">
        <pre aria-hidden="true"><code>{pieces.map(({ kind, text }) => (/keyword|text|number|comment/.test(kind) ? <span class={`sql-${kind}`}>{text}</span> : text))}{'\n'}</code></pre>
        <textarea aria-label="Query" spellcheck={false} autocapitalize="off" autocomplete="off" value={sql} onInput={(event) => onInput(event.currentTarget.value)} onKeyDown={onKey} />
      </div>
      <div class="query-bar">
        <button type="button" class="primary" title="Run (Ctrl+Enter)" aria-keyshortcuts="Control+Enter" disabled={busy || !sql.trim()} onClick={() => void start()}>Run</button>
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

/** compared gives the figures that a value compares, with their names: columns such as "__total_amount in 2025". */
const compared = (row: Row): [name: string, figure: unknown][] =>
  Object.entries(row).flatMap(([name, figure]) => (/^__\w+ /.test(name) ? [[name.slice(2).replaceAll('_', ' '), figure]] : []));

/** FigureView shows one value large, with its change. */
function FigureView({ figure: { value, of, changes }, row }: { figure: Figure; row: Row }): VNode {
  const change = (field: Field) => `${Number(row[field.name]) > 0 ? '+' : ''}${shown(row[field.name], field)}${/percent/i.test(field.name) ? ' %' : ''}`;
  return (
    <dl class="figure">
      <dt>{title(value.name)}{of && ` · ${shown(row[of.name], of)}`}</dt>
      <dd>{shown(row[value.name], value)}</dd>
      {compared(row).map(([name, figure]) => <dd class="figure-change">{shown(figure, { ...value, name })} <span class="hint">{name}</span></dd>)}
      {changes.map((field) => <dd class="figure-change">{change(field)} <span class="hint">{title(field.name)}</span></dd>)}
    </dl>
  );
}

const page = 200;

function Table({ rows: given }: { rows: Row[] }): VNode {
  const [most, setMost] = useState(page);
  const [sort, setSort] = useState<Sort>();
  const fields = useMemo(() => fieldsOf(given), [given]);
  const rows = useMemo(() => (sort ? sorted(given, sort) : given), [given, sort]);
  const score = useMemo(() => scores(rows), [rows]);
  if (rows.length === 0) return <p class="hint">No rows. Try other words, or see the query.</p>;
  return (
    <>
      <div class="scroll table-frame" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              <Heads fields={fields} sort={sort} onSort={(name) => setSort(nextSort(sort, name))} />
              {score && <th scope="col" class="number">score</th>}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row, i) => (
              <tr key={row}>
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
