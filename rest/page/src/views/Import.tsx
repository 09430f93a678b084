import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { datasetsOf, metadataOf, previewOf, say, type Dataset, type Mode, type Options, type Preview, type Sent, type TablePreview } from '../api';
import { importAll, type Adding, type Imported, type Target } from '../data/importing';
import { datasetName, distinct, tableName } from '../names';
import { patiently } from '../patience';
import { place } from '../place';
import { mayAddTo } from '../rights';
import { columnsWords, rowsWords } from '../rows';
import { user } from '../session';
import { mine, namespaces } from '../store';
import { Problem } from './Dialog';
import { ReadingOptions } from './Options';
import { TableView } from './Preview';
import { howWords } from './Report';

interface ImportProps {
  filename: string;
  sent: Sent;
  /** What is added to which dataset; one is chosen here where it names none. */
  adding: Adding;
  onDone: (all: Imported[]) => void;
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** ImportForm shows what is in a file that was sent. Nothing is stored until one imports it. */
export function ImportForm({ filename, sent, adding, onDone }: ImportProps): VNode {
  const { into, again } = adding;
  const { preview, reading, problem, options, types, read, retype } = usePreview(sent, again?.options ?? {});
  const [busy, setBusy] = useState('');
  const [failure, setFailure] = useState('');
  const [mode, setMode] = useState<Mode | undefined>(adding.mode);
  const own = (namespaces.value ?? []).filter((n) => mine(n.owner) && mayAddTo(n.name)).map((n) => n.name);
  const at = place.value && mine(place.value.owner) && mayAddTo(place.value.namespace) ? place.value.namespace : undefined;
  const [namespace, setNamespace] = useState(into?.namespace ?? at ?? own[0] ?? 'main');
  const [names, setNames] = useState<Record<string, string>>({});
  const [chosen, setChosen] = useState<Record<string, boolean>>({});

  const tables = preview?.tables ?? [];
  const several = tables.length > 1;
  const readable = tables.filter((table) => table.columns.length > 0);
  const isChosen = (table: TablePreview) => table.columns.length > 0 && (chosen[table.name] ?? (!into || table === readable[0]));
  const proposed = several ? distinct(tables.map((table) => tableName(datasetName(filename), table.name))) : [datasetName(filename)];
  const nameOf = (table: TablePreview) => names[table.name] ?? proposed[tables.indexOf(table)] ?? '';
  const toOf = (table: TablePreview): Dataset => into ?? { owner: user.value || 'self', namespace: namespace.trim(), name: nameOf(table).trim() };
  const targets = tables.filter(isChosen);
  const known = useExisting(into, namespace, targets.map(nameOf));
  const existing = targets.map(toOf).filter((to) => known.has(to.name.toLowerCase()));

  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const start = async () => {
    const chosen = targets.map((table) => nameOf(table).trim());
    if (!into && distinct(chosen).some((name, i) => name !== chosen[i])) return setFailure('Two tables have the same name. Give each a name of its own.');
    setFailure('');
    setBusy(filename);
    const list = targets.map((table): Target => ({
      to: toOf(table),
      mode: mode ?? 'append',
      options: { ...options, ...(several && { sheet: table.name }), ...(types[table.name] && { types: types[table.name] }) },
    }));
    try {
      const all = await importAll(sent, list, stop.current.signal, setBusy);
      if (all.some((each) => !each.failure)) return onDone(all);
      setFailure(all[0]!.failure);
    } catch (error) {
      if (!stop.current.signal.aborted) setFailure(say(error));
    }
    setBusy('');
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void start();
  };
  const table = (each: TablePreview) => <TableView table={each} types={types[each.name] ?? {}} onType={(column, type) => retype(each.name, column, type, several)} />;
  return (
    <form class="import" onSubmit={submit}>
      <fieldset disabled={busy !== ''}>
        <p class="import-file"><strong>{filename}</strong> <span class="hint">{preview && howWords(preview)}</span></p>
        {!into && (
          <div class="fields import-target">
            <label for="namespace">Namespace</label>
            <input id="namespace" required maxLength={128} list="namespaces" autocomplete="off" value={namespace} onInput={(event) => setNamespace(event.currentTarget.value)} />
            <datalist id="namespaces">{own.map((each) => <option value={each} />)}</datalist>
            {tables.length === 1 && (
              <>
                <label for="dataset">Dataset</label>
                <input id="dataset" required maxLength={128} autocomplete="off" value={nameOf(tables[0]!)}
                  onInput={(event) => setNames({ ...names, [tables[0]!.name]: event.currentTarget.value })} />
              </>
            )}
          </div>
        )}
        {!into && place.value && !at && <p class="hint">This is your own namespace. To add rows to a dataset of {place.value.owner}, open the dataset and press “Add rows”.</p>}
        {preview || problem ? <ReadingOptions key={preview ? 'read' : 'unread'} options={options} preview={preview} busy={reading} onApply={(next) => read(next)} /> : null}
        {reading && <p role="status"><span class="spinner" /> Reading the file…</p>}
        <Problem text={problem} />
        {several ? tables.map((each, i) => (
          <section class="import-table" key={each.name}>
            <header>
              <label>
                <input type={into ? 'radio' : 'checkbox'} name="table" checked={isChosen(each)} disabled={each.columns.length === 0}
                  onChange={(event) => setChosen(into ? Object.fromEntries(tables.map((t) => [t.name, t === each])) : { ...chosen, [each.name]: event.currentTarget.checked })} />
                {each.name}
              </label>
              {each.columns.length > 0 && <span class="hint">{rowsWords(each.rowCount)}, {columnsWords(each.columns.length)}</span>}
              {!into && isChosen(each) && (
                <input aria-label={`Dataset for ${each.name}`} required maxLength={128} autocomplete="off" value={nameOf(each)}
                  onInput={(event) => setNames({ ...names, [each.name]: event.currentTarget.value })} />
              )}
            </header>
            <details open={i === 0 || each.columns.length === 0}><summary>Preview of {each.name}</summary>{table(each)}</details>
          </section>
        )) : tables.map(table)}
        {existing.length > 0 && (
          <fieldset class="mode">
            <legend>{existing.map((to) => `${to.namespace}/${to.name} has ${rowsWords(known.get(to.name.toLowerCase())!)}.`).join(' ')} What should happen to them?</legend>
            <label><input type="radio" name="mode" value="append" required checked={mode === 'append'} onChange={() => setMode('append')} /> Append: keep them and add the new rows</label>
            <label><input type="radio" name="mode" value="replace" required checked={mode === 'replace'} onChange={() => setMode('replace')} /> Replace: delete them and keep only the new rows</label>
          </fieldset>
        )}
      </fieldset>
      {busy && <div role="status"><p><span class="spinner" /> Importing {busy}…</p><progress aria-label="Importing" /></div>}
      <Problem text={failure} />
      <footer>
        <button class="primary" disabled={busy !== '' || reading || problem !== '' || targets.length === 0}>
          Import {targets.length > 1 ? `${targets.length} tables` : rowsWords(targets[0]?.rowCount ?? 0)}
        </button>
      </footer>
    </form>
  );
}

/** usePreview reads what is in a file, and again when options or types change. */
function usePreview(sent: Sent, { types: firstTypes, ...first }: Options) {
  const [preview, setPreview] = useState<Preview>();
  const [reading, setReading] = useState(true);
  const [problem, setProblem] = useState('');
  const [options, setOptions] = useState<Options>(first);
  const [types, setTypes] = useState<Record<string, Record<string, string>>>({});
  const stop = useRef(new AbortController());
  const ask = async (how: Options, take: (preview: Preview) => void) => {
    stop.current.abort();
    const { signal } = (stop.current = new AbortController());
    setReading(true);
    setProblem('');
    try {
      take(await patiently(signal, () => previewOf(sent, how, signal)));
    } catch (error) {
      if (signal.aborted) return;
      setProblem(say(error));
    }
    setReading(false);
  };
  /** Other options may give other columns, so that chosen types no longer fit. */
  const read = (next: Options) => {
    setOptions(next);
    setTypes({});
    void ask(next, setPreview);
  };
  const retype = (table: string, column: string, type: string, several: boolean) => {
    const { [column]: _, ...others } = types[table] ?? {};
    const next = type ? { ...others, [column]: type } : others;
    retypeAll(table, next, several);
  };
  const retypeAll = (table: string, next: Record<string, string>, several: boolean) => {
    setTypes({ ...types, [table]: next });
    void ask({ ...options, ...(several && { sheet: table }), types: next }, (found) => {
      const fresh = found.tables[0];
      if (fresh) setPreview((before) => before && { ...before, tables: before.tables.map((each) => (each.name === table ? { ...fresh, name: table } : each)) });
    });
  };
  useEffect(() => {
    void ask(first, (found) => {
      setPreview(found);
      const [table] = found.tables;
      if (table && firstTypes) retypeAll(table.name, firstTypes, false);
    });
    return () => stop.current.abort();
  }, []);
  return { preview, reading, problem, options, types, read, retype };
}

/** useExisting finds which datasets exist, by name in lower case, with how many rows they have. */
function useExisting(into: Dataset | undefined, namespace: string, names: string[]): Map<string, number> {
  const [found, setFound] = useState(new Map<string, number>());
  const wanted = into ? into.name : names.join('\n');
  useEffect(() => {
    let current = true;
    const look = async () => {
      const home = namespaces.value?.find((n) => mine(n.owner) && same(n.name, namespace.trim()));
      const list = into ? [into] : home ? await datasetsOf(home) : [];
      const matching = list.filter((d) => wanted.split('\n').some((name) => same(name.trim(), d.name)));
      const counts = await Promise.all(matching.map(async (d) => [d.name.toLowerCase(), (await metadataOf(d)).rowCount] as const));
      if (current) setFound(new Map(counts));
    };
    const timer = setTimeout(() => void look().catch(() => current && setFound(new Map())), 150);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [namespace, wanted]);
  return found;
}
