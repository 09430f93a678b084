import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { attemptsOf, mayEdit, retry, type Attempt } from '../api';
import { ingested } from '../data/ingestion';
import { rowsWords } from '../rows';
import { explain, readDatasets, type Described } from '../store';
import { Problem, ReadProblem, useWork } from './Dialog';
import { ReportView } from './Report';

const pageSize = 25;

const statuses: Record<Attempt['status'], string> = { pending: 'Waiting', processing: 'Being read', completed: 'Completed', failed: 'Failed' };

/** HistoryTab lists the ingestions into a dataset, with how their files were read. */
export function HistoryTab({ dataset }: { dataset: Described }): VNode {
  const [list, setList] = useState<Attempt[]>();
  const [more, setMore] = useState(false);
  const [stop] = useState(() => new AbortController());
  const [problem, setProblem] = useState('');
  const read = async (before?: Attempt[]) => {
    try {
      const found = await attemptsOf(dataset, pageSize, before?.at(-1)?.attributes.createdAt, stop.signal);
      setList([...(before ?? []), ...found]);
      setMore(found.length >= pageSize);
    } catch (error) {
      if (!stop.signal.aborted) setProblem(explain(error));
    }
  };
  useEffect(() => {
    void read();
    return () => stop.abort();
  }, []);
  return (
    <>
      <ReadProblem text={problem} />
      {!list && !problem && <p class="waiting" aria-busy="true">Reading…</p>}
      {list?.length === 0 && <p class="empty">No file was imported into this dataset.{dataset.metadata!.rowCount > 0 && ' Its rows came in over the interface.'}</p>}
      {list?.map((attempt) => <Entry key={attempt.id} attempt={attempt} dataset={dataset} signal={stop.signal} onChange={() => read()} />)}
      {more && <button type="button" class="more" onClick={() => void read(list)}>Show older ones</button>}
    </>
  );
}

function Entry({ attempt, dataset, signal, onChange }: { attempt: Attempt; dataset: Described; signal: AbortSignal; onChange: () => Promise<void> }): VNode {
  const { status, statusMessage, processedRows, attributes } = attempt;
  const { busy, problem, work } = useWork();
  const again = () => work(async () => {
    const { id } = await retry(attempt.id);
    await ingested(dataset, id, signal, () => undefined);
    await onChange();
    await readDatasets();
  });
  const warnings = attributes.warnings?.length ?? 0;
  return (
    <article class="card attempt" data-status={status}>
      <h2>{attributes.name}</h2>
      <p class="hint">
        <time dateTime={attributes.createdAt}>{new Date(attributes.createdAt).toLocaleString()}</time> · {statuses[status]}
        {status === 'completed' && <> · {attributes.mode === 'replace' ? 'replaced the rows' : 'appended'}: {rowsWords(processedRows)}{statusMessage && `, ${statusMessage}`}</>}
        {warnings > 0 && <> · {warnings} {warnings === 1 ? 'warning' : 'warnings'}</>}
      </p>
      {status === 'failed' && <Problem text={statusMessage ?? ''} />}
      {status === 'failed' && mayEdit(dataset.metadata) && <button type="button" disabled={busy} onClick={() => void again()}>Try again</button>}
      <Problem text={problem} />
      {status === 'completed' && attributes.columns && <details><summary>How it was read</summary><ReportView report={attributes} /></details>}
    </article>
  );
}
