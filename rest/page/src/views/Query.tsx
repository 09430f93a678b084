import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { runQuery } from '../api';
import { toSpec } from '../chart/spec';
import { place } from '../place';
import type { Step } from '../run';
import { piecesOf } from '../sql';
import { Problem, useWork } from './Dialog';
import { Result } from './Result';

interface Props {
  sql: string;
  original: string;
  question: string;
  onInput: (sql: string) => void;
  /** More buttons. */
  children: ComponentChildren;
}

/** QueryView shows a query, which can be changed and run. Its rows are shown below. */
export function QueryView({ sql, original, question, onInput, children }: Props): VNode {
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
