import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Agent } from '../a2a';
import { rate } from '../api';
import { ratingOf, remember } from '../ratings';
import type { Run } from '../run';
import { token } from '../session';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** Feedback rates a completed run. A comment can follow the thumb. */
export function Feedback({ run, agent }: { run: Run; agent: Agent }): VNode {
  const rated = ratingOf(run.id);
  const [asking, setAsking] = useState(false);
  const [comment, setComment] = useState(rated?.comment ?? '');
  const { busy, problem, work } = useWork();
  const send = (thumbsUp: boolean, words: string) => work(async () => {
    const by = token.peek();
    await rate(run.id, thumbsUp, words);
    if (token.peek() === by) remember(run.id, { thumbsUp, comment: words });
  });
  const thumb = (thumbsUp: boolean) => {
    setAsking(true);
    void send(thumbsUp, rated?.comment ?? '');
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    await send(rated?.thumbsUp ?? true, comment.trim());
    setAsking(false);
  };
  return (
    <div class="feedback">
      <div class="feedback-row">
        <IconButton icon="up" label="Good answer" pressed={rated?.thumbsUp === true} disabled={busy} onClick={() => thumb(true)} />
        <IconButton icon="down" label="Bad answer" pressed={rated?.thumbsUp === false} disabled={busy} onClick={() => thumb(false)} />
        <span class="hint" role="status">{rated && !problem && (rated.comment && !asking ? `Rated: “${rated.comment}”` : 'Thank you.')}</span>
        <span class="hint agent">{agent}</span>
      </div>
      {asking && rated && (
        <form onSubmit={(event) => void submit(event)}>
          <label class="offscreen" for={`comment-${run.id}`}>Comment</label>
          <input id={`comment-${run.id}`} value={comment} maxLength={10000} placeholder="What was good, or wrong? (optional)"
            onInput={(event) => setComment(event.currentTarget.value)} />
          <button disabled={busy}>Send</button>
        </form>
      )}
      <Problem text={problem} />
    </div>
  );
}
