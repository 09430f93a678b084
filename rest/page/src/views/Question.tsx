import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, focusQuestion, working } from '../store';
import type { Turn } from '../turn';
import { IconButton } from './Icon';

/** Question shows what was asked. Once the turn is over, it can be changed and asked again, as a new turn. */
export function Question({ turn }: { turn: Turn }): VNode {
  const [editing, setEditing] = useState(false);
  const [kept, setKept] = useState(false); // the button gets the focus back
  const row = useRef<HTMLDivElement>(null);
  const text = turn.run.value?.question || turn.question.text;
  useEffect(() => {
    if (kept) row.current?.querySelector('button')?.focus();
  }, [kept, editing]);
  const close = () => {
    setEditing(false);
    setKept(true);
  };
  if (editing) return <Editor text={text} onAsk={(changed) => { setEditing(false); ask(turn.agent, changed); focusQuestion(); }} onClose={close} />;
  return (
    <div class="asked" ref={row}>
      {turn.over.value && <IconButton icon="edit" label="Edit the question" onClick={() => { setKept(false); setEditing(true); }} />}
      <h2 class="question">{text}</h2>
    </div>
  );
}

function Editor({ text, onAsk, onClose }: { text: string; onAsk: (text: string) => void; onClose: () => void }): VNode {
  const [changed, setChanged] = useState(text);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    box.current!.focus();
    box.current!.setSelectionRange(text.length, text.length);
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (changed.trim() && !working.value) onAsk(changed.trim());
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose();
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
  };
  return (
    <form class="edit-question" onSubmit={submit}>
      <h2 class="offscreen">{text}</h2>
      <textarea ref={box} rows={2} maxLength={30000} aria-label="The question, changed" value={changed} onInput={(event) => setChanged(event.currentTarget.value)} onKeyDown={onKey} />
      <div>
        <button type="button" onClick={onClose}>Discard</button>
        <button class="primary" disabled={!changed.trim() || !!working.value}>Ask again</button>
      </div>
    </form>
  );
}

/** Retry asks the question of a turn that failed or was stopped once more. */
export function Retry({ turn }: { turn: Turn }): VNode {
  const again = () => {
    ask(turn.agent, turn.run.value?.question || turn.question.text);
    focusQuestion();
  };
  return <button type="button" class="retry" disabled={!!working.value} onClick={again}>Try again</button>;
}
