import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { runQuery, say, type Period, type SavedQuery } from '../api';
import { toSpec } from '../chart/spec';
import { here, place } from '../place';
import type { Step } from '../run';
import { editsNamespace, problem, readSaved, saved } from '../saved';
import { Problem, ReadProblem } from './Dialog';
import { IconButton } from './Icon';
import { Rows } from './Result';
import { PinSettings } from './PinSettings';

/** How often the board looks whether data or pins have changed. */
const refreshEvery = 20_000;

/** BoardView shows the queries of a board with their rows of now, and again when data changes. */
export function BoardView(): VNode {
  const [round, setRound] = useState(0);
  const [period, setPeriod] = useState<Period>();
  const pins = saved.value.boards?.queries;
  const changed = saved.value.boards?.dataChangedAt;
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || readSaved('boards')), refreshEvery);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="data board">
      <header>
        <h1>Board of {here.value}</h1>
        {pins && pins.length > 0 && (
          <>
            <PeriodFilter period={period} onChange={setPeriod} />
            <button type="button" onClick={() => setRound(round + 1)}>Run all again</button>
            <button type="button" onClick={() => window.print()}>Print</button>
          </>
        )}
      </header>
      <ReadProblem text={problem.value} />
      {!pins && !problem.value && <p class="waiting" aria-busy="true">Reading…</p>}
      {pins?.length === 0 && <p class="empty">Nothing here yet. {editsNamespace.value ? 'Ask a question, then pin its result to the board.' : 'Editors of this namespace can pin results here.'}</p>}
      <div class="pins">{pins?.map((pin, i) => <Pin key={pin.id} pin={pin} at={i} round={`${round} ${changed} ${period?.from} ${period?.to}`} period={period} />)}</div>
    </section>
  );
}

/** PeriodFilter chooses the days of which all pins show the rows. */
function PeriodFilter({ period, onChange }: { period: Period | undefined; onChange: (period?: Period) => void }): VNode {
  const [days, setDays] = useState<Period>({ from: '', to: '' });
  const set = (change: Partial<Period>) => {
    const next = { ...days, ...change };
    setDays(next);
    if (next.from || next.to) onChange({ from: next.from || '0001-01-01', to: next.to || '9999-12-31' });
    else onChange(undefined);
  };
  return (
    <div class="period" role="group" aria-label="Period">
      <label>From <input type="date" value={days.from} max={days.to || undefined} onChange={(event) => set({ from: event.currentTarget.value })} /></label>
      <label>to <input type="date" value={days.to} min={days.from || undefined} onChange={(event) => set({ to: event.currentTarget.value })} /></label>
      {period && <IconButton icon="close" label="All days" onClick={() => set({ from: '', to: '' })} />}
    </div>
  );
}

function Pin({ pin, at, round, period }: { pin: SavedQuery; at: number; round: string; period: Period | undefined }): VNode {
  const [step, setStep] = useState<Step>();
  const [by, setBy] = useState('');
  const [failure, setFailure] = useState('');
  const [open, setOpen] = useState(false);
  const shown = useRef('');
  useEffect(() => {
    const stop = new AbortController();
    const { owner, namespace } = place.value!;
    runQuery({ owner, name: namespace }, pin.query, pin.question, stop.signal, period)
      .then(({ data, metadata, chart }) => {
        const text = JSON.stringify(data);
        setFailure('');
        setBy(period ? (metadata.period ? `by ${metadata.period.column} of ${metadata.period.dataset}` : 'of all days') : '');
        if (text === shown.current) return; // what has not changed stays as it is
        shown.current = text;
        setStep({ id: pin.id, instruction: '', reasoning: '', query: pin.query, rows: data, truncated: metadata.truncated, total: metadata.totalRows, chart: toSpec(chart) });
      })
      .catch((error) => stop.signal.aborted || setFailure(say(error)));
    return () => stop.abort();
  }, [round, pin.query]);
  const title = pin.title || pin.question;
  const rows = useMemo(() => step && <Rows step={step} name={title} />, [step, title]);
  return (
    <article class={pin.wide ? 'card wide' : 'card'} data-pin={pin.id}>
      <header>
        <h2>{title}</h2>
        <IconButton icon="edit" label={`Change “${title}”`} onClick={() => setOpen(true)} />
      </header>
      <Problem text={failure} />
      {!step && !failure && <p class="waiting" aria-busy="true">Running…</p>}
      {!failure && rows}
      {by && <p class="hint">{by}</p>}
      {pin.watch?.problem && <Problem text={`It could not be asked again: ${pin.watch.problem}`} />}
      {pin.watch && !pin.watch.changedAt && <p class="hint">{pin.watch.at ? 'Asked again every day.' : 'Asked again when the data changes.'}</p>}
      {!period && pin.watch?.changedAt && <p class="change">{new Date(pin.watch.changedAt).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })}: {pin.watch.change!}</p>}
      {open && <PinSettings pin={pin} at={at} onClose={() => setOpen(false)} />}
    </article>
  );
}
