import type { VNode } from 'preact';
import { shortName } from '../names';

/** Name shows the name of a column. A long one is cut, and whole in the title. */
export function Name({ text }: { text: string }): VNode {
  const short = shortName(text);
  return short === text ? <>{text}</> : <span title={text}>{short}</span>;
}
