import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Drawing } from '../chart/draw';
import type { Box, Place } from '../chart/places';
import { asKind, choicesOf, kinds, kindsOf, type Kind, type Spec } from '../chart/spec';
import { isNarrow } from '../chart/theme';
import { save } from '../files';
import type { Row } from '../rows';
import { Dialog, Problem } from './Dialog';
import { IconButton } from './Icon';

interface Props {
  chart: Spec;
  rows: Row[];
  /** What the chart answers. */
  name: string;
  /** The name of files, without what says their type. */
  file: string;
  actions: Actions;
}

/** Action is what can be done with a place of a chart. */
export interface Action {
  label: string;
  act: () => void;
}

export type Actions = (place: Place) => Action[];

/** ChartView shows the server's chart, and lets its measure and kind be changed. */
export function ChartView({ chart, rows, name, file, actions }: Props): VNode {
  const [measure, setMeasure] = useState(0);
  const [kind, setKind] = useState<Kind>();
  const [large, setLarge] = useState(false);
  const choices = choicesOf(chart);
  const base = useMemo(() => ({ ...chart, ...choices[measure]?.spec }), [chart, measure]);
  const possible = kindsOf(base);
  const shown = kind && possible.includes(kind) ? kind : possible[0]!;
  const spec = useMemo(() => asKind(base, shown), [base, shown]);
  const drawing = useRef<Drawing | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const give = async (type: 'png' | 'svg') => {
    try {
      if (drawing.current) save(`${file}.${type}`, await drawing.current[type]());
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="chart">
      <div class="chart-bar">
        {choices.length > 1 && (
          <select aria-label="Measure" value={measure} onChange={(e) => setMeasure(Number(e.currentTarget.value))}>
            {choices.map((choice, i) => <option value={i}>{choice.title}</option>)}
          </select>
        )}
        {possible.length > 1 && (
          <div class="segments" role="group" aria-label="Draw as">
            {possible.map((each) => <button type="button" aria-pressed={shown === each} onClick={() => setKind(each)}>{kinds[each]}</button>)}
          </div>
        )}
        <div class="chart-files">
          <button type="button" aria-label="Download as PNG" onClick={() => void give('png')}>PNG</button>
          <button type="button" aria-label="Download as SVG" onClick={() => void give('svg')}>SVG</button>
          <IconButton icon="expand" label="Show in full width" onClick={() => setLarge(true)} />
        </div>
      </div>
      <Problem text={problem} />
      <Canvas spec={spec} rows={rows} onDrawn={(drawn) => (drawing.current = drawn)} actions={actions} />
      {large && (
        <Dialog title={name} full onClose={() => setLarge(false)}>
          <Canvas spec={spec} rows={rows} actions={(place) => actions(place).map(({ label, act }) => ({ label, act: () => { setLarge(false); act(); } }))} />
        </Dialog>
      )}
    </div>
  );
}

/** Canvas draws a chart as wide as there is room, in the colors that the user prefers. The place under the pointer, or the one that the arrow keys chose, shows its values; a click or Enter shows what can be done with it. */
function Canvas({ spec, rows, onDrawn, actions }: { spec: Spec; rows: Row[]; onDrawn?: (drawing?: Drawing) => void; actions: Actions }): VNode {
  const frame = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const [width, setWidth] = useState(0);
  const [problem, setProblem] = useState('');
  const [shown, show] = useState<Shown>();
  const dark = useDark();
  const visible = width > 0;
  const narrow = isNarrow(width);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!visible) return undefined; // in a step that is closed
    let left = false;
    const report = (drawn?: Drawing) => {
      drawing.current = drawn;
      onDrawn?.(drawn);
    };
    const start = async () => {
      try {
        const { draw } = await import('../chart/draw');
        if (left) return;
        const drawn = await draw(frame.current!, spec, rows, dark);
        if (left) return drawn.remove();
        report(drawn);
        setProblem('');
      } catch {
        if (!left) setProblem('The chart could not be drawn. Load the page again, or see the table.');
      }
    };
    void start();
    return () => {
      left = true;
      show(undefined);
      drawing.current?.remove();
      report();
    };
  }, [spec, rows, dark, visible, narrow]);
  useEffect(() => drawing.current?.resize(width), [width]);
  /** goTo shows a place, beside the pointer or, by the keyboard, beside itself. */
  const goTo = (index: number, menu: boolean, pointer?: { clientX: number; clientY: number }) => {
    const drawn = drawing.current;
    const places = drawn?.places() ?? [];
    const place = places[index];
    if (!drawn || !place) return show(undefined);
    const [[left, top], box] = [drawn.origin(), frame.current!.getBoundingClientRect()];
    const at = pointer
      ? { x: pointer.clientX, y: pointer.clientY }
      : { x: box.left + left + place.left + place.width / 2, y: box.top + top + place.top + place.height / 2 };
    show({ place, index, ...at, menu: menu && actions(place).length > 0, byKey: !pointer, cursor: drawn.cursor(place) });
  };
  const onPointer = (event: PointerEvent | MouseEvent, menu: boolean) => {
    if (shown?.menu && !menu) return;
    goTo(drawing.current?.near(event.clientX, event.clientY) ?? -1, menu, event);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const index = shown?.index ?? -1;
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Escape' && shown) event.stopPropagation();
    if (event.key === 'Escape') return show(undefined);
    if (step) goTo(Math.max(0, Math.min(index < 0 && step < 0 ? 0 : index + step, (drawing.current?.places().length ?? 0) - 1)), false);
    else if (!opens(event)) return;
    event.preventDefault();
  };
  // The key is up before the menu has the focus, so that it presses nothing there.
  const onKeyUp = (event: KeyboardEvent) => {
    if (event.target === event.currentTarget && shown && opens(event)) goTo(shown.index, true);
  };
  const close = () => {
    show(undefined);
    frame.current?.focus();
  };
  return (
    <>
      <Problem text={problem} />
      <div class="chart-frame" ref={frame} tabIndex={0} role="application" aria-roledescription="chart"
        aria-label={`${spec.description}. The arrow keys go through its values.`} onKeyDown={onKey} onKeyUp={onKeyUp}
        onPointerMove={(event) => event.pointerType !== 'touch' && onPointer(event, false)} onPointerLeave={() => shown?.menu || shown?.byKey || show(undefined)}
        onClick={(event) => onPointer(event, true)} onBlur={() => shown?.menu || show(undefined)} />
      <p class="offscreen" role="status">{shown?.byKey && shown.place.lines.map((line) => line.join(': ')).join(', ')}</p>
      {shown?.cursor && <CursorView cursor={shown.cursor} frame={frame.current!} origin={drawing.current?.origin() ?? [0, 0]} />}
      {shown && <TipView shown={shown} actions={shown.menu ? actions(shown.place) : []} onClose={close} />}
    </>
  );
}

const opens = ({ key }: KeyboardEvent): boolean => key === 'Enter' || key === ' ';

interface Shown {
  place: Place;
  index: number;
  /** Where the tip is, in the window. */
  x: number;
  y: number;
  menu: boolean;
  byKey: boolean;
  cursor: Box | undefined;
}

function CursorView({ cursor, frame, origin: [x, y] }: { cursor: Box; frame: HTMLElement; origin: [number, number] }): VNode {
  const mark = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { style } = mark.current!;
    style.left = `${frame.offsetLeft + x + cursor.left}px`;
    style.top = `${frame.offsetTop + y + cursor.top}px`;
    style.width = `${cursor.width}px`;
    style.height = `${cursor.height}px`;
  }, [cursor]);
  return <div class="chart-cursor" ref={mark} />;
}

/** TipView shows the values of a place, and what can be done with it. It stays within the window. */
function TipView({ shown, actions, onClose }: { shown: Shown; actions: Action[]; onClose: () => void }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [[title, label] = ['', ''], ...lines] = shown.place.lines;
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style } = box.current!;
    style.left = `${Math.max(4, Math.min(shown.x + 12, innerWidth - offsetWidth - 4))}px`;
    style.top = `${shown.y + 16 + offsetHeight > innerHeight ? Math.max(4, shown.y - offsetHeight - 8) : shown.y + 16}px`;
    if (actions.length > 0) box.current!.querySelector('button')!.focus();
  }, [shown]);
  const onBlur = (event: FocusEvent) => box.current?.contains(event.relatedTarget as Node) || (actions.length > 0 && onClose());
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    event.preventDefault();
    onClose();
  };
  return (
    <div class={actions.length > 0 ? 'chart-tip menu' : 'chart-tip'} role={actions.length > 0 ? 'group' : 'tooltip'} aria-label={`${title} ${label}`} ref={box} onKeyDown={onKey} onBlur={onBlur}>
      <dl>
        <div><dt>{title}</dt><dd><strong>{label}</strong></dd></div>
        {lines.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}
      </dl>
      {actions.map(({ label, act }) => <button type="button" onClick={() => { onClose(); act(); }}>{label}</button>)}
    </div>
  );
}

function useDark(): boolean {
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const change = () => setDark(query.matches);
    change(); // it may have changed since the first rendering
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return dark;
}
