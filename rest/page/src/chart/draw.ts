// Draws charts by Vega, which is large: this module is loaded with the first chart.
import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';
import { formatLocale, parse, View } from 'vega';
import { separators } from '../locale';
import type { Row } from '../rows';
import { axisOf, cursorOf, nearest, placesOf, type Box, type Place } from './places';
import { withValues, type Spec } from './spec';
import { themeOf } from './theme';

formatLocale(separators());

/** Drawing is a chart on the page. */
export interface Drawing {
  resize: (width: number) => void;
  png: () => Promise<Blob>;
  svg: () => Promise<Blob>;
  remove: () => void;
  places: () => Place[];
  /** near gives the index of the place that is nearest to a point of the window; -1 beside the plot. */
  near: (x: number, y: number) => number;
  /** origin is the corner of the plot in the frame. */
  origin: () => [number, number];
  /** cursor is what marks a place, in pixels of the plot. */
  cursor: (place: Place) => Box | undefined;
}

/** draw draws a chart of rows into an element, as wide as it is. */
export async function draw(parent: HTMLElement, spec: Spec, rows: Row[], dark: boolean): Promise<Drawing> {
  const frame = parent.appendChild(document.createElement('div'));
  // Vega adds fields to the rows that it is given.
  const datasets = { rows: rows.map((row) => ({ ...row })) };
  const { usermeta: _, ...drawn } = withValues(spec, rows, frame.clientWidth, getComputedStyle(frame).color);
  const compiled = compile({ ...drawn, width: 'container', datasets } as unknown as TopLevelSpec, { config: themeOf(frame.clientWidth, dark) });
  // The page's policy forbids code that is made from text, so expressions are interpreted.
  const view = new View(parse(compiled.spec, undefined, { ast: true }), {
    container: frame,
    renderer: 'svg',
    expr: expressionInterpreter,
    tooltip: () => undefined, // the page has its own
  });
  await view.runAsync();
  const axis = axisOf(spec);
  const places = () => placesOf((view.scenegraph() as unknown as { root: Parameters<typeof placesOf>[0] }).root, spec, rows);
  const size = () => ({ width: view.width(), height: view.height() });
  return {
    places,
    cursor: (place) => cursorOf(place, axis, size()),
    origin: () => view.origin(),
    near: (clientX, clientY) => {
      const { left, top } = frame.getBoundingClientRect();
      const [x, y] = [clientX - left - view.origin()[0], clientY - top - view.origin()[1]];
      const { width, height } = size();
      // The labels of an axis belong to it.
      const within = x >= (axis === 'y' ? -Infinity : 0) && x <= width + 60 && y >= 0 && y <= height + (axis === 'x' ? 24 : 0);
      return within ? nearest(places(), axis, x, y, { width, height }) : -1;
    },
    resize: (width) => void view.signal('width', width).runAsync(),
    png: async () => toPNG((await view.toCanvas(2)) as unknown as HTMLCanvasElement),
    svg: async () => new Blob([await view.toSVG()], { type: 'image/svg+xml' }),
    remove: () => {
      view.finalize();
      frame.remove();
    },
  };
}

const toPNG = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The chart is too large for a picture.'))), 'image/png'));
