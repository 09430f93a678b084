import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { revoke, share, shares, type Role, type Share, type Shared } from '../api';
import { mine, namespaces } from '../store';
import { Dialog, Problem, useWork } from './Dialog';
import { IconButton } from './Icon';
import { RowRules } from './RowRules';

function RoleChoice({ id, value, label, onChange }: { id?: string; value: Role; label: string; onChange: (role: Role) => void }): VNode {
  return (
    <select id={id} aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as Role)}>
      <option value="viewer">can read</option>
      <option value="editor">can edit</option>
    </select>
  );
}

/** The most namespaces whose shares are looked at for a name. */
const mostNamespaces = 20;

/** isKnown says whether a user shares something with this one, or the other way round. */
async function isKnown(name: string): Promise<boolean> {
  const list = namespaces.value ?? [];
  if (list.some((n) => n.owner === name)) return true;
  const own = list.filter((n) => mine(n.owner)).slice(0, mostNamespaces);
  const all = await Promise.all(own.map((n) => shares(n)));
  return all.flat().some((each) => each.username === name);
}

export function SharesDialog({ what, onClose }: { what: Shared; onClose: () => void }): VNode {
  const [list, setList] = useState<Share[]>();
  const [username, setUsername] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const { busy, problem, work } = useWork();
  const change = (what: () => Promise<unknown>) => work(async () => {
    await what();
    await read();
  });
  const [above, setAbove] = useState<Share[]>([]);
  const read = async () => {
    if ('namespace' in what) setAbove(await shares({ owner: what.owner, name: what.namespace }));
    setList(await shares(what));
  };
  useEffect(() => void work(read), []);
  const [unknown, setUnknown] = useState('');
  const name = username.trim().toLowerCase();
  const add = (event: Event) => {
    event.preventDefault();
    void change(async () => {
      const known = [...(list ?? []), ...above].some((each) => each.username === name) || unknown === name || (await isKnown(name));
      setUnknown(known ? '' : name);
      if (!known) return;
      await share(what, { username: username.trim(), role });
      setUsername('');
    });
  };
  return (
    <Dialog title={`Share ${what.name}`} onClose={onClose}>
      <p class="hint">
        {'namespace' in what ? 'The people here can read this dataset only.' : 'The people here can read every dataset in this namespace, also future ones.'} Those who can edit add
        data and change descriptions.
      </p>
      <ul class="shares">
        {list?.map((each) => (
          <li key={each.username}>
            <span class="share-name">{each.username}</span>
            <RoleChoice value={each.role} label={`What ${each.username} can do`} onChange={(role) => void change(() => share(what, { ...each, role }))} />
            <IconButton icon="trash" label={`Stop sharing with ${each.username}`} onClick={() => void change(() => revoke(what, each))} />
          </li>
        ))}
        {list === undefined && <li class="hint">Reading…</li>}
        {list && above.map((each) => (
          <li class="hint" key={`above ${each.username}`}>{each.username} {each.role === 'editor' ? 'can edit' : 'can read'} it because the namespace is shared.</li>
        ))}
        {list?.length === 0 && above.length === 0 && <li class="hint">Nobody else sees it.</li>}
      </ul>
      <form class="share-form" onSubmit={add}>
        <label class="offscreen" for="share-user">Username or group</label>
        <input id="share-user" required maxLength={255} autocomplete="off" autocapitalize="off" spellcheck={false} placeholder="Username, or group:NAME" value={username}
          onInput={(event) => setUsername(event.currentTarget.value)} />
        <RoleChoice id="share-role" value={role} label="What they can do" onChange={setRole} />
        <button class="primary" disabled={busy || !name}>{unknown && unknown === name ? 'Share anyway' : 'Share'}</button>
      </form>
      {unknown && unknown === name && (
        <p class="warnings" role="alert">You have not shared anything with <strong>{unknown}</strong> before. {unknown.startsWith('group:') ? 'Groups' : 'Usernames'} are not checked: make sure that it is spelled right.</p>
      )}
      <Problem text={problem} />
      {'namespace' in what && <RowRules dataset={what} users={[...(list ?? []), ...above].map((each) => each.username)} />}
    </Dialog>
  );
}
