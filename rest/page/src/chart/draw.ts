// Draws charts by Vega, which is large: this module is loaded with the first chart.
import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';
import { formatLocale, parse, View } from 'vega';
import { separators } from '../locale';
import type { Row } from '../rows';
import type { Spec } from './spec';
import { themeOf } from './theme';

formatLocale(separators());

/** Tip is what is shown beside the pointer: names and values. */
export interface Tip {
  x: number;
  y: number;
  lines: [string, string][];
}

/** Drawing is a chart on the page. */
export interface Drawing {
  resize: (width: number) => void;
  png: () => Promise<Blob>;
  svg: () => Promise<Blob>;
  remove: () => void;
}

/** draw draws a chart of rows into an element, as wide as it is. */
export async function draw(parent: HTMLElement, spec: Spec, rows: Row[], dark: boolean, onTip: (tip?: Tip) => void): Promise<Drawing> {
  const frame = parent.appendChild(document.createElement('div'));
  // Vega adds fields to the rows that it is given.
  const datasets = { rows: rows.map((row) => ({ ...row })) };
  const { usermeta: _, ...drawn } = spec;
  const compiled = compile({ ...drawn, width: 'container', datasets } as unknown as TopLevelSpec, { config: themeOf(frame.clientWidth, dark) });
  // The page's policy forbids code that is made from text, so expressions are interpreted.
  const view = new View(parse(compiled.spec, undefined, { ast: true }), {
    container: frame,
    renderer: 'svg',
    hover: true,
    expr: expressionInterpreter,
    tooltip: (_, event, __, value) => onTip(tipOf(event as MouseEvent, value)),
  });
  await view.runAsync();
  return {
    resize: (width) => void view.signal('width', width).runAsync(),
    png: async () => toPNG((await view.toCanvas(2)) as unknown as HTMLCanvasElement),
    svg: async () => new Blob([await view.toSVG()], { type: 'image/svg+xml' }),
    remove: () => {
      onTip();
      view.finalize();
      frame.remove();
    },
  };
}

function tipOf(event: MouseEvent, value: unknown): Tip | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return { x: event.clientX, y: event.clientY, lines: Object.entries(value).map(([name, text]) => [name, String(text)]) };
}

const toPNG = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The chart is too large for a picture.'))), 'image/png'));
