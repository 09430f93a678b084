import type { VNode } from 'preact';
import { find, maySave, toggle, type Kind } from '../saved';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** useSave gives buttons that save a query, or remove it, for those who may, and what went wrong. */
export function useSave(question: string, query: string): { buttons: VNode | null; problem: VNode } {
  const { busy, problem, work } = useWork();
  const button = (kind: Kind, words: [string, string]) => {
    const known = find(kind, question, query) !== undefined;
    return <IconButton icon={kind === 'verified' ? 'verified' : 'pin'} label={words[Number(known)]!} pressed={known} onClick={() => { if (!busy) void work(() => toggle(kind, question, query)); }} />;
  };
  return {
    buttons: maySave.value && question ? <>{button('verified', ['Save as verified', 'Remove from verified'])}{button('boards', ['Pin to the board', 'Remove from the board'])}</> : null,
    problem: <Problem text={problem} />,
  };
}
