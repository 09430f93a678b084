import type { VNode } from 'preact';
import { find, editsNamespace, toggle, type Kind } from '../saved';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** useSave gives buttons that save a query, or remove it, for those who may, and what went wrong. */
export function useSave(question: string, query: string): { buttons: VNode | null; problem: VNode } {
  const verified = useToggle('verified', question, query);
  const pinned = useToggle('boards', question, query);
  return {
    buttons: editsNamespace.value && question ? <>{verified.button}{pinned.button}</> : null,
    problem: <><Problem text={verified.problem} /><Problem text={pinned.problem} /></>,
  };
}

const labels: Record<Kind, [save: string, remove: string]> = {
  verified: ['Save as verified', 'Remove from verified'],
  boards: ['Pin to the board', 'Remove from the board'],
};

function useToggle(kind: Kind, question: string, query: string): { button: VNode; problem: string } {
  const { busy, problem, work } = useWork();
  const known = find(kind, question, query) !== undefined;
  const press = () => {
    if (!busy) void work(() => toggle(kind, question, query)); // a disabled button would lose the focus
  };
  return { button: <IconButton icon={kind === 'verified' ? 'verified' : 'pin'} label={labels[kind][Number(known)]!} pressed={known} onClick={press} />, problem };
}
