import type { ComponentChildren, VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { agentWords, type Agent } from '../a2a';
import { rate } from '../api';
import { builtInOnly } from '../models';
import { ratingOf, remember } from '../ratings';
import { unrestricted } from '../rights';
import type { Run } from '../run';
import { token } from '../session';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { ReceiptButton } from './Receipt';
import { ShareButton } from './Shared';

async function sendRating(run: string, thumbsUp: boolean, comment: string): Promise<void> {
  const by = token.peek();
  await rate(run, thumbsUp, comment);
  if (token.peek() === by) remember(run, { thumbsUp, comment });
}

/** isConfirmed tells of a likely answer that its user has called right. */
export const isConfirmed = (run: Run): boolean => ratingOf(run.id)?.thumbsUp === true;

/** Likely asks whether a likely answer is right, and offers other readings of its question. The server remembers which one is chosen. */
export function Likely({ run, children }: { run: Run; children: ComponentChildren }): VNode | null {
  const { busy, problem, work } = useWork();
  if (isConfirmed(run)) return null;
  return (
    <div class="asks" role="group" aria-label="Is that right?">
      <p>This answer is likely, not certain. Is it what you mean?</p>
      <button type="button" disabled={busy} onClick={() => void work(() => sendRating(run.id, true, ''))}>Yes, that is right</button>
      {children}
      <Problem text={problem} />
    </div>
  );
}

/** Feedback rates a completed run. A comment can follow the thumb. The first answer of a conversation can be shared: others may repeat what is in those before. */
export function Feedback({ run, agent, first }: { run: Run; agent: Agent; first: boolean }): VNode {
  const rated = ratingOf(run.id);
  const [asking, setAsking] = useState(false);
  const [comment, setComment] = useState(rated?.comment ?? '');
  const row = useRef<HTMLDivElement>(null);
  const { busy, problem, work } = useWork();
  const send = (thumbsUp: boolean, words: string) => work(() => sendRating(run.id, thumbsUp, words));
  const thumb = (thumbsUp: boolean) => {
    if (busy) return; // and yet keeps the focus
    const kept = rated?.thumbsUp === thumbsUp ? rated.comment : ''; // it was said of the other thumb
    setAsking(true);
    setComment(kept);
    void send(thumbsUp, kept);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    await send(rated?.thumbsUp ?? true, comment.trim());
    row.current?.querySelector<HTMLElement>('[aria-pressed=true]')?.focus();
    setAsking(false);
  };
  return (
    <div class="feedback">
      <div class="feedback-row" ref={row}>
        <IconButton icon="up" label="Good answer" pressed={rated?.thumbsUp === true} onClick={() => thumb(true)} />
        <IconButton icon="down" label="Bad answer" pressed={rated?.thumbsUp === false} onClick={() => thumb(false)} />
        {run.sharable && <ReceiptButton run={run.id} />}
        {first && run.sharable && unrestricted.value && <ShareButton run={run.id} />}
        <span class="hint" role="status">{rated && !problem && (rated.comment && !asking ? `Rated: “${rated.comment}”` : 'Thank you.')}</span>
        <span class="hint agent">{[agent === 'nl2ql' && agentWords.nl2ql, run.model || (builtInOnly.value && 'built-in reader')].filter(Boolean).join(', ')}</span>
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
