import type { VNode } from 'preact';
import { useErrorBoundary, useMemo, useRef } from 'preact/hooks';
import { Markdown } from '../markdown';
import { shortened } from '../names';
import type { Run } from '../run';
import { ask, datasets, focusQuestion, turns, working } from '../store';
import { followUps } from '../suggest';
import type { Turn } from '../turn';
import { Problem } from './Dialog';
import { Feedback, isConfirmed, Likely } from './Feedback';
import { Question, Retry } from './Question';
import { StepView, toStep } from './Step';

/** TurnView shows a turn. One that cannot be shown does not take the others with it. */
export function TurnView({ turn }: { turn: Turn }): VNode {
  const [failed] = useErrorBoundary();
  return failed ? <Unshown turn={turn} /> : <Shown turn={turn} />;
}

function Unshown({ turn }: { turn: Turn }): VNode {
  const run = turn.run.value;
  return (
    <article class="turn" data-run={run?.id} data-state={run?.state}>
      <div class="asked"><h2 class="question">{run?.question || turn.question.text}</h2></div>
      <Problem text="This page cannot show all of the answer. Load it again, or ask another question." />
      {run?.answer && <div class="answer plain">{run.answer}</div>}
    </article>
  );
}

function Shown({ turn }: { turn: Turn }): VNode {
  const article = useRef<HTMLElement>(null);
  const run = turn.run.value;
  return (
    <article class="turn" ref={article} data-run={run?.id} data-state={turn.problem.value ? 'failed' : (run?.state ?? 'working')}>
      <Question turn={turn} />
      {run?.answer && <div class="answer"><Markdown text={run.answer} onStep={(index) => toStep(article.current, index)} /></div>}
      {run?.state === 'completed' && run.likely && turns.value?.at(-1) === turn && (
        <Likely run={run}><Suggestions turn={turn} label="Other meanings of the question" questions={run.alternatives} /></Likely>
      )}
      {run && <Steps run={run} onAsk={turns.value?.at(-1) === turn && run.state === 'completed' ? (question) => { ask(turn.agent, question); focusQuestion(); } : undefined} />}
      <p class="progress" role="status">{progressOf(turn, run)}</p>
      {run?.asks && <Asks turn={turn} asks={run.asks} />}
      {run?.state === 'failed' && (run.notUnderstood ? <p class="answer">{run.failure}</p> : <Failed run={run} />)}
      {run?.notUnderstood && <Suggestions turn={turn} label="Questions that can be answered" questions={run.suggestions} />}
      <Problem text={turn.problem.value} />
      {mayRetry(turn, run) && <Retry turn={turn} />}
      {run?.state === 'completed' && <Feedback run={run} agent={turn.agent} first={turns.value?.find((each) => each.run.value) === turn} />}
      {run?.state === 'completed' && turns.value?.at(-1) === turn && <FollowUps turn={turn} run={run} />}
    </article>
  );
}

/** mayRetry tells of a question that failed or was stopped: the same words may have an answer now. */
const mayRetry = (turn: Turn, run: Run | undefined): boolean =>
  turn.problem.value !== '' || run?.state === 'canceled' || (run?.state === 'failed' && !run.notUnderstood);

function progressOf(turn: Turn, run: Run | undefined): VNode | null {
  if (turn.lost.value && !turn.over.value) return <><span class="spinner" /> Reconnecting…</>;
  if (run?.state === 'completed') return <span class="offscreen">Answered{run.answer && `: ${firstWords(run.answer)}`}</span>;
  if (turn.over.value) return run?.state === 'canceled' ? <>Stopped.</> : null;
  if (run?.asks) return <span class="offscreen">{run.asks.question}</span>;
  if (turn.canceling.value) return <><span class="spinner" /> Stopping…</>;
  return <><span class="spinner" /> {run ? run.current || 'Writing the answer' : 'Sending'}</>;
}

/** firstWords gives the first sentence of an answer, or as much of it as one listens to, without Markdown. */
const firstWords = (answer: string): string => /^.{0,200}?(?=[.!?](\s|$)|\n|$)|^.{200}/.exec(answer.trim().replace(/\*\*|`|\[(.*?)\]\(.*?\)/g, '$1'))?.[0] ?? '';

/** Asks shows what the agent asks, with a button for each answer. One can also be typed. */
function Asks({ turn, asks }: { turn: Turn; asks: NonNullable<Run['asks']> }): VNode {
  const busy = turn.answering.value || turn.canceling.value;
  return (
    <div class="asks" role="group" aria-label={asks.question}>
      <p>{asks.question}</p>
      <ol class="options">
        {asks.options.map((option) => (
          <li>
            <button type="button" title={option.query || undefined} disabled={busy} onClick={() => void turn.answer({ option: option.id })}>{option.label}</button>
          </li>
        ))}
      </ol>
      <button type="button" disabled={busy} onClick={() => void turn.cancel()}>Never mind</button>
      <Problem text={turn.refusal.value} />
    </div>
  );
}

function Steps({ run, onAsk }: { run: Run; onAsk?: (question: string) => void }): VNode {
  const { plan, steps } = run;
  const ahead = plan?.steps.slice(steps.length) ?? [];
  const several = (plan?.steps.length ?? 0) > 1;
  return (
    <div class="steps">
      {several && plan?.reasoning && <p class="reasoning">{plan.reasoning}</p>}
      {steps.map((step, i) => (
        <StepView key={step.id} step={isConfirmed(run) ? { ...step, likely: false } : step} number={several ? i + 1 : 0} last={i === steps.length - 1} question={run.question} onAsk={several ? undefined : onAsk} />
      ))}
      {several && run.state === 'working' && ahead.length > 0 && (
        <ol class="ahead" start={steps.length + 1}>
          {ahead.map((instruction, i) => <li class={i ? undefined : 'now'}>{instruction}</li>)}
        </ol>
      )}
    </div>
  );
}

/** The most characters of a question on a button. */
const longestQuestion = 160;

/** Suggestions has a button for each question. */
function Suggestions({ turn, label, questions }: { turn: Turn; label: string; questions: string[] }): VNode | null {
  if (!questions.length) return null;
  return (
    <ul class="suggestions" aria-label={label}>
      {questions.map((question) => (
        <li key={question}>
          <button type="button" title={question.length > longestQuestion ? question : undefined} disabled={!!working.value} onClick={() => { ask(turn.agent, question); focusQuestion(); }}>
            {shortened(question, longestQuestion)}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** FollowUps suggests how to go on from the last result. */
function FollowUps({ turn, run }: { turn: Turn; run: Run }): VNode | null {
  const step = run.steps.findLast((each) => each.rows);
  const known = datasets.value;
  const asked = turns.value?.map((each) => each.run.value?.question ?? each.question.text) ?? [];
  const questions = useMemo(() => (step && known ? followUps(step, known) : []), [step?.query, step?.rows, known]);
  return <Suggestions turn={turn} label="Questions to go on with" questions={questions.filter((question) => !asked.includes(question))} />;
}

function Failed({ run }: { run: Run }): VNode {
  return (
    <>
      <Problem text={run.failure.charAt(0).toUpperCase() + run.failure.slice(1)} />
      {run.failedQuery && <pre class="query"><code>{run.failedQuery}</code></pre>}
    </>
  );
}
