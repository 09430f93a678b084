import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { cellText, clipped, shown, type Field } from '../rows';

/** Cell shows a value. A long one opens. */
export function Cell({ value, field }: { value: unknown; field: Field }): VNode {
  const [open, setOpen] = useState(false);
  if (value === null || value === undefined) return <td class={field.numeric ? 'number none' : 'none'}>–</td>;
  const full = cellText(value);
  const short = clipped(shown(value, field));
  if (short.length >= full.length || field.numeric) return <td class={field.numeric ? 'number' : undefined} title={full}>{short}</td>;
  return (
    <td class={open ? 'open' : undefined}>
      <button type="button" class="cell" title={open ? 'Show less' : full} aria-expanded={open} onClick={() => setOpen(!open)}>{open ? full : short}</button>
    </td>
  );
}
