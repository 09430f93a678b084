import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { changePin, unwatch, watch, type SavedQuery } from '../api';
import { place } from '../place';
import { editsNamespace, readSaved, remove, saved } from '../saved';
import { Dialog, Problem, useWork } from './Dialog';

type When = 'never' | 'change' | 'daily';

/** PinSettings changes how a pinned query is shown, for those who may, and when it is asked again for the user. */
export function PinSettings({ pin, at, onClose }: { pin: SavedQuery; at: number; onClose: () => void }): VNode {
  const { busy, problem, work } = useWork();
  const [title, setTitle] = useState(pin.title || pin.question);
  const [wide, setWide] = useState(pin.wide ?? false);
  const [when, setWhen] = useState<When>(!pin.watch ? 'never' : pin.watch.at ? 'daily' : 'change');
  const [time, setTime] = useState(pin.watch?.at ? toLocal(pin.watch.at) : '08:00');
  const [webhook, setWebhook] = useState(pin.watch?.webhook ?? '');
  const [token, setToken] = useState('');
  const edits = editsNamespace.value;
  const last = (saved.value.boards?.queries.length ?? 1) - 1;
  const namespace = { owner: place.value!.owner, name: place.value!.namespace };
  const change = (how: Parameters<typeof changePin>[2]) => work(async () => {
    await changePin(namespace, pin.id, how);
    await readSaved('boards');
  });
  const save = (event: Event) => {
    event.preventDefault();
    void work(async () => {
      if (edits && (title !== pin.title || wide !== (pin.wide ?? false))) await changePin(namespace, pin.id, { title, wide });
      const same = when === (!pin.watch ? 'never' : pin.watch.at ? 'daily' : 'change') && webhook === (pin.watch?.webhook ?? '') && !token && (when !== 'daily' || toUTC(time) === pin.watch?.at);
      if (when !== 'never' && !same) await watch(namespace, pin.id, { ...(when === 'daily' && { at: toUTC(time) }), ...(webhook && { webhook }), ...(webhook && token && { token }) });
      else if (when === 'never' && pin.watch) await unwatch(namespace, pin.id);
      await readSaved('boards');
      onClose();
    });
  };
  const drop = () => work(async () => {
    await remove('boards', pin.id);
    onClose();
  });
  return (
    <Dialog title={pin.title || pin.question} onClose={onClose}>
      <form onSubmit={save}>
        {edits && (
          <>
            <label>Title <input value={title} maxLength={200} required onInput={(event) => setTitle(event.currentTarget.value)} /></label>
            <label class="check"><input type="checkbox" checked={wide} onChange={(event) => setWide(event.currentTarget.checked)} /> As wide as the board</label>
            <p class="places">
              <button type="button" disabled={busy || at === 0} onClick={() => void change({ place: at - 1 })}>Move forward</button>
              <button type="button" disabled={busy || at >= last} onClick={() => void change({ place: at + 1 })}>Move back</button>
            </p>
          </>
        )}
        <label>
          Ask it again for me
          <select value={when} onChange={(event) => setWhen(event.currentTarget.value as When)}>
            <option value="never">Never</option>
            <option value="change">When the data changes</option>
            <option value="daily">Every day</option>
          </select>
        </label>
        {when === 'daily' && <label>At <input type="time" value={time} required onInput={(event) => setTime(event.currentTarget.value)} /></label>}
        {when !== 'never' && (
          <>
            <p class="hint">What has changed is shown here and in a conversation, and sent to the webhook if you name one.</p>
            <label>Webhook <input type="url" value={webhook} placeholder="https://" onInput={(event) => setWebhook(event.currentTarget.value)} /></label>
            {webhook && <label>Its token <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>}
          </>
        )}
        <Problem text={problem} />
        <footer>
          {edits && <button type="button" class="danger" disabled={busy} onClick={() => void drop()}>Remove from the board</button>}
          <button type="submit" class="primary" disabled={busy}>Save</button>
        </footer>
      </form>
    </Dialog>
  );
}

const two = (n: number): string => String(n).padStart(2, '0');

/** toUTC gives a time of the day of here, as it is today, in UTC; toLocal the other way round. */
function toUTC(time: string): string {
  const at = new Date();
  at.setHours(Number(time.slice(0, 2)), Number(time.slice(3)), 0, 0);
  return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
}

function toLocal(time: string): string {
  const at = new Date();
  at.setUTCHours(Number(time.slice(0, 2)), Number(time.slice(3)), 0, 0);
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}
