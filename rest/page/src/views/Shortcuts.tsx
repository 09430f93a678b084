import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { go, hrefOf, place } from '../place';
import { focusQuestion, shortcuts } from '../store';
import { Dialog } from './Dialog';

const keys: [string, string][] = [
  ['/', 'Write a question'],
  ['Enter', 'Ask the question'],
  ['Shift + Enter', 'Begin a new line'],
  ['Ctrl + Enter', 'Run the query that you edit'],
  ['↑', 'In an empty field: recall the last question, again for the one before'],
  ['Esc', 'Close a dialog or the menu, or leave an edit'],
  ['?', 'Show this list'],
];

/** useShortcuts takes the keys that work anywhere but in a field or a dialog. */
export function useShortcuts(): void {
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const at = event.target as Element;
      if (event.ctrlKey || event.metaKey || event.altKey || at.closest?.('input, textarea, select, dialog, [contenteditable]') || document.querySelector('dialog')) return;
      if (event.key === '?') shortcuts.value = true;
      else if (event.key === '/' && place.value) {
        // The field has the focus by itself where it is new.
        if (document.getElementById('question')) focusQuestion();
        else go(hrefOf(place.value.owner, place.value.namespace));
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
}

/** Shortcuts lists the keys. */
export function Shortcuts(): VNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (shortcuts.value = false)}>
      <dl class="shortcuts">
        {keys.map(([key, does]) => (
          <div>
            <dt>{key.split(' + ').map((each, i) => <>{i > 0 && ' + '}<kbd>{each}</kbd></>)}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
