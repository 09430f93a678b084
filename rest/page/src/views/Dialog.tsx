import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { say } from '../api';
import { lost } from '../connection';
import { Icon, IconButton } from './Icon';

/** Dialog is shown for as long as it is rendered. Escape closes it. */
export function Dialog({ title, wide, full, onClose, children }: { title: string; wide?: boolean; full?: boolean; onClose: () => void; children: ComponentChildren }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const gone = useRef(false);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    return () => {
      gone.current = true;
      shown.close(); // which gives the focus back
      if (document.activeElement === document.body) document.querySelector('main')?.focus(); // what had it is gone
    };
  }, []);
  const heading = useRef<HTMLHeadingElement>(null);
  // What had the focus may be gone with a step of the dialog.
  useEffect(() => {
    if (!dialog.current!.contains(document.activeElement)) heading.current!.focus();
  });
  return (
    <dialog ref={dialog} class={full ? 'full' : wide ? 'wide' : undefined} aria-labelledby={id} onClose={() => gone.current || onClose()}>
      <header>
        <h2 id={id} ref={heading} tabIndex={-1}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={() => dialog.current!.close()} />
      </header>
      {children}
    </dialog>
  );
}

/** ReadProblem is Problem for what is read by itself: while the server is away, the banner says so. */
export const ReadProblem = ({ text }: { text: string }): VNode => <Problem text={lost.value ? '' : text} />;

/** Problem says what went wrong, to a screen reader too. */
export function Problem({ text }: { text: string }): VNode | null {
  return text ? (
    <p class="problem" role="alert">
      <Icon name="alert" />
      <span>{text}</span>
    </p>
  ) : null;
}

/** useWork gives a way to run something that takes time, whether it does, and what went wrong. */
export function useWork() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const work = async (what: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    try {
      await what();
    } catch (error) {
      setProblem(say(error));
    }
    setBusy(false);
  };
  return { busy, problem, work };
}

/** Confirm asks before something is done that cannot be undone. */
export function Confirm(props: { title: string; words: string; action: string; onYes: () => Promise<void>; onClose: () => void }): VNode {
  const { busy, problem, work } = useWork();
  const yes = () => work(async () => {
    await props.onYes();
    props.onClose();
  });
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.words}</p>
      <Problem text={problem} />
      <footer>
        <button type="button" onClick={props.onClose}>Keep</button>
        <button type="button" class="danger" disabled={busy} onClick={yes}>{props.action}</button>
      </footer>
    </Dialog>
  );
}
