import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Drawing, Tip } from '../chart/draw';
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
}

/** ChartView shows the server's chart, and lets its measure and kind be changed. */
export function ChartView({ chart, rows, name, file }: Props): VNode {
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
      <Canvas spec={spec} rows={rows} onDrawn={(drawn) => (drawing.current = drawn)} />
      {large && (
        <Dialog title={name} full onClose={() => setLarge(false)}>
          <Canvas spec={spec} rows={rows} />
        </Dialog>
      )}
    </div>
  );
}

/** Canvas draws a chart as wide as there is room, in the colors that the user prefers. */
function Canvas({ spec, rows, onDrawn }: { spec: Spec; rows: Row[]; onDrawn?: (drawing?: Drawing) => void }): VNode {
  const frame = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const [width, setWidth] = useState(0);
  const [problem, setProblem] = useState('');
  const [tip, setTip] = useState<Tip>();
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
        const drawn = await draw(frame.current!, spec, rows, dark, setTip);
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
      drawing.current?.remove();
      report();
    };
  }, [spec, rows, dark, visible, narrow]);
  useEffect(() => drawing.current?.resize(width), [width]);
  return (
    <>
      <Problem text={problem} />
      <div class="chart-frame" ref={frame} />
      {tip && <TipView tip={tip} />}
    </>
  );
}

/** TipView stays within the window. */
function TipView({ tip }: { tip: Tip }): VNode {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style } = box.current!;
    style.left = `${Math.max(4, Math.min(tip.x + 12, innerWidth - offsetWidth - 4))}px`;
    style.top = `${tip.y + 16 + offsetHeight > innerHeight ? tip.y - offsetHeight - 8 : tip.y + 16}px`;
  }, [tip]);
  return (
    <div class="chart-tip" role="tooltip" ref={box}>
      <dl>{tip.lines.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
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
