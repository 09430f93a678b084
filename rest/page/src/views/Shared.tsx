import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { endShare, say, sharedRun, shareOf, shareRun, Refusal, type SharedRun } from '../api';
import { toSpec } from '../chart/spec';
import { plain } from '../entities';
import { copy } from '../files';
import { Markdown } from '../markdown';
import { hrefOf, place } from '../place';
import { isCount, plainAnswer, type Step } from '../run';
import { Dialog, Problem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { StepView, toStep } from './Step';

/** ShareButton makes a link to an answer, and ends it. */
export function ShareButton({ run }: { run: string }): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="link" label="Share this answer" onClick={() => setOpen(true)} />
      {open && <ShareDialog run={run} onClose={() => setOpen(false)} />}
    </>
  );
}

function ShareDialog({ run, onClose }: { run: string; onClose: () => void }): VNode {
  const [link, setLink] = useState('');
  const [said, setSaid] = useState('');
  const { busy, problem, work } = useWork();
  const show = (id: string) => {
    const { owner, namespace } = place.value!;
    setLink(new URL(hrefOf(owner, namespace, 'shared', id), document.baseURI).href);
  };
  useEffect(() => void work(async () => {
    const id = await shareOf(run);
    if (id) show(id);
  }), []);
  const make = () => work(async () => {
    show((await shareRun(run)).id);
    setSaid('The link is made.');
  });
  const end = () => work(async () => {
    await endShare(run).catch((error) => {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
    });
    setLink('');
    setSaid('The link no longer works.');
  });
  return (
    <Dialog title="Share this answer" onClose={onClose}>
      <p>People with the link see the question, the answer and its rows if they may read its data. Others see nothing.</p>
      {link && (
        <p class="share-link">
          <input aria-label="Link" readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
          <button type="button" onClick={() => void copy(link).then((done) => setSaid(done ? 'The link is copied.' : 'Copy the link by hand.'))}>Copy</button>
        </p>
      )}
      <p class="hint" role="status">{said}</p>
      <Problem text={problem} />
      <footer>
        {link ? <button type="button" disabled={busy} onClick={() => void end()}>Stop sharing</button>
          : <button type="button" class="primary" disabled={busy} onClick={() => void make()}>Make a link</button>}
      </footer>
    </Dialog>
  );
}

const toSteps = (shared: SharedRun): Step[] =>
  shared.result.steps.map((step, i) => ({
    id: String(i), instruction: plain(step.instruction), reasoning: plain(step.reasoning), query: step.query, rows: step.data, truncated: step.truncated === true, total: step.totalRows,
    chart: toSpec(step.chart), verified: step.verified, likely: step.certainty === 'likely',
  }));

/** SharedView shows an answer that somebody shared. */
export function SharedView({ id }: { id: string }): VNode {
  const [shared, setShared] = useState<SharedRun>();
  const [problem, setProblem] = useState('');
  const article = useRef<HTMLElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    const gone = 'There is no such answer, or you may not read the data that it is from. Ask who sent the link.';
    sharedRun(id, stop.signal)
      .then(setShared)
      .catch((error) => stop.signal.aborted || setProblem(error instanceof Refusal && error.status === 404 ? gone : say(error)));
    return () => stop.abort();
  }, []);
  if (!shared) return <section class="data"><h1>A shared answer</h1>{problem ? <Problem text={problem} /> : <p class="waiting" aria-busy="true">Opening the answer…</p>}</section>;
  const steps = toSteps(shared);
  return (
    <section class="data shared">
      <p class="hint">{shared.askedBy} asked this in {shared.username}/{shared.namespace} and shared the answer.</p>
      <article class="turn" ref={article} data-state="completed">
        <div class="asked"><h1 class="question">{shared.question}</h1></div>
        {!isCount(shared.result.response) && <div class="answer"><Markdown text={plainAnswer(shared.result.response, steps.length)} onStep={(index) => toStep(article.current, index)} /></div>}
        <div class="steps">
          {steps.map((step, i) => <StepView key={step.id} step={step} number={steps.length > 1 ? i + 1 : 0} last={i === steps.length - 1} question={shared.question} />)}
        </div>
      </article>
    </section>
  );
}
