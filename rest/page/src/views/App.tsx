import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { mayEdit } from '../api';
import { look, lost } from '../connection';
import { add, adding } from '../data/importing';
import { pasted } from '../data/paste';
import { astray, here, hrefOf, lastPlace, place } from '../place';
import { mayAdd, rights } from '../rights';
import { accept, offered, token, user, usernameOf } from '../session';
import { settings } from '../settings';
import { datasets, namespaces, problem, shortcuts } from '../store';
import { BoardView } from './Board';
import { ConversationView } from './Conversation';
import { DataView } from './Data';
import { DatasetView } from './Dataset';
import { Dialog, ReadProblem } from './Dialog';
import { Icon } from './Icon';
import { Brand, Sidebar } from './Sidebar';
import { SharedView } from './Shared';
import { Shortcuts, useShortcuts } from './Shortcuts';
import { SignIn } from './SignIn';
import { UploadDialog } from './Upload';

export function App(): VNode {
  return token.value ? <Console key={token.value} /> : <SignIn />;
}

function Console(): VNode {
  const [menu, setMenu] = useState(false);
  const dragging = useDrop((files) => mayAdd.value && add([...files]));
  usePaste();
  useShortcuts();
  const opener = useRef<HTMLButtonElement>(null);
  const main = useRef<HTMLElement>(null);
  const close = () => setMenu(false);
  const open = adding.value;
  // Conversations scroll by themselves; what else is opened begins at its top.
  const { view = 'new', dataset, shared } = place.value ?? {};
  const shown = view === 'new' || view === 'conversation' ? '' : [here.value, view, dataset, shared].join(' ');
  useLayoutEffect(() => {
    if (shown) main.current!.scrollTop = 0;
  }, [shown]);
  const escape = () => {
    close();
    if (menu) opener.current?.focus();
  };
  return (
    <div class={menu ? 'console menu-open' : 'console'} onKeyDown={(event) => event.key === 'Escape' && escape()}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>Skip the menu</button>
      <header class="topbar only-phone">
        <button type="button" class="icon-button" ref={opener} aria-label="Menu" aria-expanded={menu} aria-controls="sidebar" onClick={() => setMenu(true)}>
          <Icon name="menu" />
        </button>
        <Brand />
        <span class="topbar-place">{here.value}</span>
      </header>
      <Sidebar onLeave={close} onUpload={() => { close(); adding.value = {}; }} />
      <div class="veil" onClick={close} />
      <main ref={main} tabIndex={-1}>
        {lost.value && <Away />}
        <div class="notices"><ReadProblem text={problem.value} /></div>
        <View />
      </main>
      {dragging && <div class="drop-veil" role="status"><Icon name="file" /> {mayAdd.value ? 'Drop files to add their data' : 'This token cannot add data'}</div>}
      {offered.value && <Offer />}
      {shortcuts.value && <Shortcuts />}
      {open && <UploadDialog key={open} adding={open} onClose={() => { if (adding.value === open) adding.value = undefined; }} />}
    </div>
  );
}

/** Away is shown while the server does not answer. */
function Away(): VNode {
  return (
    <div class="away" role="status">
      <Icon name="alert" /> <span>The server cannot be reached. This page goes on when it is back.</span>
      <button type="button" onClick={() => void look()}>Try now</button>
    </div>
  );
}

/** Offer asks whether to become whom a link signs in. */
function Offer(): VNode {
  const name = usernameOf(offered.value, settings.usernameClaim) || 'somebody else';
  const close = () => (offered.value = '');
  return (
    <Dialog title={`Sign in as ${name}?`} onClose={close}>
      <p>A link wants to sign you in anew. Go on only if you trust who gave it to you: what you add and ask from then on is {name}’s.</p>
      <footer>
        <button type="button" onClick={close}>Stay {user.value || 'signed in'}</button>
        <button type="button" class="primary" onClick={accept}>Sign in as {name}</button>
      </footer>
    </Dialog>
  );
}

function View(): VNode {
  if (place.value?.dataset) return <DatasetView name={place.value.dataset} />;
  if (place.value?.view === 'data') return <DataView />;
  if (place.value?.shared) return <SharedView key={place.value.shared} id={place.value.shared} />;
  if (place.value?.view === 'board') return <BoardView key={here.value} />;
  if (place.value) return <ConversationView />;
  const first = namespaces.value?.find((each) => `${each.owner}/${each.name}` === lastPlace()) ?? namespaces.value?.[0];
  if (first && astray.value) {
    return (
      <section class="welcome">
        <h1>There is no such page</h1>
        <p>Check the address, or go to <a href={hrefOf(first.owner, first.name)}>{first.owner}/{first.name}</a>.</p>
      </section>
    );
  }
  if (!namespaces.value || first || !rights.value) return <p class="waiting" aria-busy="true">Looking for your data…</p>;
  if (!mayAdd.value) {
    return (
      <section class="welcome">
        <h1>There is no data here</h1>
        <p>Your token is restricted, and what it covers was deleted or is no longer shared with you. Sign in with another one.</p>
      </section>
    );
  }
  return (
    <section class="welcome">
      <h1>Begin with a file</h1>
      <p>You have no data yet. Drop a file anywhere on this page, or choose one: CSV, Excel, JSON, Parquet, HTML, SQLite, PDF, Word or text.</p>
      <button type="button" class="primary" onClick={() => (adding.value = {})}><Icon name="file" /> Choose a file</button>
      <p class="hint">Or ask somebody to share a namespace with you, and load this page again.</p>
    </section>
  );
}

/** usePaste takes cells that are pasted while data is shown, anywhere but into a field. */
function usePaste(): void {
  useEffect(() => {
    const take = (event: ClipboardEvent) => {
      const at = place.value;
      if (at?.view !== 'data' || adding.value || (event.target as Element).closest?.('input, textarea, dialog')) return;
      const into = datasets.value?.find((d) => d.name.toLowerCase() === at.dataset.toLowerCase());
      if (at.dataset ? !mayEdit(into?.metadata) : !mayAdd.value) return;
      const file = pasted(event);
      if (file) add([file], into);
    };
    addEventListener('paste', take);
    return () => removeEventListener('paste', take);
  }, []);
}

/** useDrop takes files that are dropped anywhere, and says whether some are being dragged. */
function useDrop(onFiles: (files: FileList) => void): boolean {
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setDragging(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setDragging(false);
    const drop = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setDragging(false);
      if (event.dataTransfer) onFiles(event.dataTransfer.files);
    };
    const on = { dragover: over, dragleave: leave, drop };
    for (const [name, listener] of Object.entries(on)) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(on)) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return dragging;
}

