import type { VNode } from 'preact';
import { go, here, hrefOf, leave, place } from '../place';
import { mayAdd, mayWrite, rights } from '../rights';
import { endSession, user } from '../session';
import { draft, mine, namespaces, refresh, shortcuts } from '../store';
import { Conversations } from './Conversations';
import { Icon, IconButton } from './Icon';

export function Brand(): VNode {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="9" />
        <path d="M9 24V9.500A1.500 1.500 0 0 1 10.500 8H17a5.500 5.500 0 0 1 0 11h-3.500z" />
        <circle cx="16.500" cy="13.500" r="1.700" />
      </svg>
      Parley
    </span>
  );
}

export function Sidebar({ onUpload, onLeave }: { onUpload: () => void; onLeave: () => void }): VNode {
  const at = place.value;
  /** follow reads again what the page shows, where the link leads to the address that is open: no change of address does then. */
  const follow = (event: Event) => {
    onLeave();
    if ((event.currentTarget as Element).getAttribute('href') === location.hash) void refresh();
  };
  return (
    <nav class="sidebar" id="sidebar" aria-label="Parley">
      <div class="sidebar-top">
        <Brand />
        <span class="only-phone"><IconButton icon="close" label="Close the menu" onClick={onLeave} /></span>
      </div>
      {(namespaces.value?.length ?? 0) > 0 && <NamespaceChoice />}
      {at && (
        <div class="sidebar-links">
          <a href={hrefOf(at.owner, at.namespace)} aria-current={at.view === 'new' ? 'page' : undefined} onClick={follow}>
            <Icon name="plus" /> New question
          </a>
          <a href={hrefOf(at.owner, at.namespace, 'data')} aria-current={at.view === 'data' ? 'page' : undefined} onClick={follow}>
            <Icon name="data" /> Data
          </a>
          <a href={hrefOf(at.owner, at.namespace, 'board')} aria-current={at.view === 'board' ? 'page' : undefined} onClick={onLeave}>
            <Icon name="pin" /> Board
          </a>
          {mayAdd.value && <button type="button" class="quiet" onClick={onUpload}><Icon name="file" /> Add a file</button>}
        </div>
      )}
      <Conversations onLeave={onLeave} />
      <div class="sidebar-user">
        <span title={user.value}>{user.value || 'signed in'}{rights.value?.restricted && (mayWrite.value ? ' (restricted)' : ' (read-only)')}</span>
        <IconButton icon="keyboard" label="Keyboard shortcuts" onClick={() => (shortcuts.value = true)} />
        <IconButton icon="leave" label="Sign out" onClick={() => { leave(); void endSession(); draft.value = { user: '', text: '' }; }} />
      </div>
    </nav>
  );
}

function NamespaceChoice(): VNode {
  const list = namespaces.value ?? [];
  const choose = (value: string) => {
    const [owner, name] = value.split('/') as [string, string];
    go(hrefOf(owner, name));
  };
  const known = list.some((n) => `${n.owner}/${n.name}` === here.value);
  return (
    <label class="namespace">
      <span>Namespace</span>
      <select value={here.value} onChange={(event) => choose(event.currentTarget.value)}>
        {!known && <option value={here.value}>{here.value || 'choose one'}</option>}
        {list.map((n) => (
          <option value={`${n.owner}/${n.name}`}>{mine(n.owner) ? n.name : `${n.owner}/${n.name}`}</option>
        ))}
      </select>
    </label>
  );
}
