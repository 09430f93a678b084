import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { runQuery, say, type SavedQuery } from '../api';
import { toSpec } from '../chart/spec';
import { here, place } from '../place';
import type { Step } from '../run';
import { editsNamespace, problem, remove, saved } from '../saved';
import { Problem, ReadProblem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { Result } from './Result';

/** BoardView shows the queries of a board with their rows of now. */
export function BoardView(): VNode {
  const [round, setRound] = useState(0);
  const pins = saved.value.boards?.queries;
  return (
    <section class="data board">
      <header>
        <h1>Board of {here.value}</h1>
        {pins && pins.length > 0 && <button type="button" onClick={() => setRound(round + 1)}>Run all again</button>}
      </header>
      <ReadProblem text={problem.value} />
      {!pins && !problem.value && <p class="waiting" aria-busy="true">Reading…</p>}
      {pins?.length === 0 && <p class="empty">Nothing here yet. {editsNamespace.value ? 'Ask a question, then pin its result to the board.' : 'Editors of this namespace can pin results here.'}</p>}
      <div class="pins">{pins?.map((pin) => <Pin key={`${pin.id} ${round}`} pin={pin} />)}</div>
    </section>
  );
}

function Pin({ pin }: { pin: SavedQuery }): VNode {
  const [step, setStep] = useState<Step>({ id: pin.id, instruction: '', reasoning: '', query: pin.query, truncated: false });
  const [failure, setFailure] = useState('');
  const removal = useWork();
  useEffect(() => {
    const stop = new AbortController();
    const { owner, namespace } = place.value!;
    runQuery({ owner, name: namespace }, pin.query, pin.question, stop.signal)
      .then(({ data, metadata, chart }) => setStep({ ...step, rows: data, truncated: metadata.truncated, total: metadata.totalRows, chart: toSpec(chart) }))
      .catch((error) => stop.signal.aborted || setFailure(say(error)));
    return () => stop.abort();
  }, []);
  const title = pin.title || pin.question;
  return (
    <article class="card" data-pin={pin.id}>
      <header>
        <h2>{title}</h2>
        {editsNamespace.value && <IconButton icon="trash" label={`Remove “${title}”`} disabled={removal.busy} onClick={() => void removal.work(() => remove('boards', pin.id))} />}
      </header>
      <Problem text={failure || removal.problem} />
      {!step.rows && !failure && <p class="waiting" aria-busy="true">Running…</p>}
      {step.rows && <Result step={step} name={pin.question} as="pinned" />}
    </article>
  );
}
