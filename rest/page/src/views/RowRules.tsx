import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { removeRowRule, rowRules, setRowRule, type Dataset, type RowRule } from '../api';
import { inLocale } from '../locale';
import { Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** RowRules shows and changes which rows of a dataset users see, for its owner. */
export function RowRules({ dataset, users }: { dataset: Dataset; users: string[] }): VNode {
  const [list, setList] = useState<RowRule[]>();
  const [username, setUsername] = useState('');
  const [condition, setCondition] = useState('');
  const [visible, setVisible] = useState('');
  const { busy, problem, work } = useWork();
  const read = async () => setList(await rowRules(dataset));
  useEffect(() => void work(read), []);
  const set = (event: Event) => {
    event.preventDefault();
    void work(async () => {
      setVisible('');
      const rule = { username: username.trim(), condition: condition.trim() };
      const counts = await setRowRule(dataset, rule);
      setVisible(`${rule.username} sees ${inLocale(counts.visibleRows ?? 0)} of ${inLocale(counts.rowCount ?? 0)} rows.`);
      setUsername('');
      setCondition('');
      await read();
    });
  };
  const remove = (rule: RowRule) => work(async () => {
    setVisible('');
    await removeRowRule(dataset, rule.username);
    await read();
  });
  return (
    <details class="row-rules" open={Boolean(list?.length)}>
      <summary>Rows</summary>
      <p class="hint">
        {list?.length ? 'Users without a rule see no rows.' : 'Everybody here sees all rows. With the first rule, users without one see no rows.'} A condition is an SQL expression, such as{' '}
        <code>region = 'north'</code>; <code>true</code> is for all rows.
      </p>
      <ul class="shares">
        {list?.map((rule) => (
          <li key={rule.username}>
            <span class="share-name">{rule.username}</span>
            <code>{rule.condition ?? `${rule.column} is the claim ${rule.claim}`}</code>
            <IconButton icon="trash" label={`Remove the rule for ${rule.username}`} disabled={busy} onClick={() => void remove(rule)} />
          </li>
        ))}
      </ul>
      <form class="share-form" onSubmit={set}>
        <input aria-label="Who sees some rows only" list="rule-users" required maxLength={255} autocomplete="off" autocapitalize="off" spellcheck={false} placeholder="Username, or group:NAME"
          value={username} onInput={(event) => setUsername(event.currentTarget.value)} />
        <datalist id="rule-users">{users.map((user) => <option value={user} />)}</datalist>
        <input aria-label="Condition of the rows" required autocomplete="off" autocapitalize="off" spellcheck={false} placeholder="region = 'north'" value={condition}
          onInput={(event) => setCondition(event.currentTarget.value)} />
        <button disabled={busy || !username.trim() || !condition.trim()}>Limit</button>
      </form>
      {visible && <p role="status">{visible}</p>}
      <Problem text={problem} />
    </details>
  );
}
