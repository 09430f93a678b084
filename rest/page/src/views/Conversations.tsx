import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Summary } from '../api';
import { byDay, found } from '../days';
import { hrefOf, place } from '../place';
import { mayWrite, unrestricted } from '../rights';
import { conversations, forget, rename } from '../store';
import { Confirm, Dialog, Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** How many conversations there are before they can be searched. */
const few = 5;

/** Conversations lists those of the namespace by day. */
export function Conversations({ onLeave }: { onLeave: () => void }): VNode {
  const [search, setSearch] = useState('');
  const [leaving, setLeaving] = useState<Summary>();
  const [renaming, setRenaming] = useState<Summary>();
  const list = conversations.value ?? [];
  const days = byDay(found(list, search), new Date());
  return (
    <div class="conversations">
      {list.length > 0 && <h2>Conversations</h2>}
      {list.length > few && (
        <input type="search" aria-label="Search conversations" placeholder="Search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      )}
      {list.length > 0 && days.length === 0 && <p class="hint" role="status">No title has these words.</p>}
      {days.map(({ label, list }) => (
        <section key={label}>
          <h3>{label}</h3>
          <ul>
            {list.map((each) => (
              <li key={each.id}>
                <a href={hrefOf(place.value?.owner ?? '', place.value?.namespace ?? '', each.id)} title={each.title} onClick={onLeave}
                  aria-current={place.value?.conversation === each.id ? 'page' : undefined}>
                  {each.title}
                </a>
                {unrestricted.value && <IconButton icon="edit" label={`Rename “${each.title}”`} onClick={() => setRenaming(each)} />}
                {mayWrite.value && <IconButton icon="trash" label={`Delete “${each.title}”`} onClick={() => setLeaving(each)} />}
              </li>
            ))}
          </ul>
        </section>
      ))}
      {leaving && (
        <Confirm title="Delete this conversation?" words={`“${leaving.title}”, its questions and its answers will be gone.`} action="Delete"
          onYes={() => forget(leaving.id)} onClose={() => setLeaving(undefined)} />
      )}
      {renaming && <Rename conversation={renaming} onClose={() => setRenaming(undefined)} />}
    </div>
  );
}

function Rename({ conversation, onClose }: { conversation: Summary; onClose: () => void }): VNode {
  const { busy, problem, work } = useWork();
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    void work(async () => {
      await rename(conversation.id, field.current!.value.trim());
      onClose();
    });
  };
  return (
    <Dialog title="Rename the conversation" onClose={onClose}>
      <form onSubmit={submit}>
        <label for="conversation-title">Title</label>
        <input id="conversation-title" ref={field} required pattern=".*\S.*" maxLength={80} defaultValue={conversation.title} autoFocus />
        <Problem text={problem} />
        <footer>
          <button type="button" onClick={onClose}>Keep</button>
          <button class="primary" disabled={busy}>Rename</button>
        </footer>
      </form>
    </Dialog>
  );
}
