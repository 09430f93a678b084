// Where a chart shows what: the places that the pointer and the arrow keys go to.
import type { Row } from '../rows';
import type { Spec } from './spec';

/** Place is a bar, a slice, a point, or all series at one point of the axis. */
export interface Place extends Box {
  /** The angles of a slice. */
  slice?: { from: number; to: number };
  lines: [name: string, value: string][];
  /** What its rows have in common: the value of a column of the rows; undefined of points of two measures. */
  of?: { column: string; value: unknown; title: string; label: string };
}

interface Item {
  x?: number;
  y?: number;
  width?: number;
  height?: number;
  startAngle?: number;
  endAngle?: number;
  datum?: Row;
  tooltip?: Record<string, string>;
  items?: { items: Item[] }[];
}

interface Entry {
  field?: string;
  title?: string;
}

/** itemsOf gives the items of a scene that have a tooltip, each with the offset of its group. */
function* itemsOf(items: Item[], x = 0, y = 0): Generator<[item: Item, x: number, y: number]> {
  for (const item of items) {
    if (item.items) for (const mark of item.items) yield* itemsOf(mark.items, x + (item.x ?? 0), y + (item.y ?? 0));
    else if (typeof item.tooltip === 'object' && item.tooltip) yield [item, x, y];
  }
}

/** axisOf is the axis that the places are on; undefined where both have measures. */
export function axisOf({ encoding: { x, y } }: Spec): 'x' | 'y' | undefined {
  if (x && (x.type !== 'quantitative' || x.bin)) return 'x';
  return y && y.type !== 'quantitative' ? 'y' : undefined;
}

/** columnOf gives the column of the rows that a field shows, through the fields that are computed from it. */
function columnOf(spec: Spec, field = '', rows: Row[]): string | undefined {
  if (rows.some((row) => Object.hasOwn(row, field))) return field;
  const made = (spec.transform as { as?: unknown; calculate?: string }[] | undefined)?.find((each) => each.as === field);
  const from = made?.calculate && [...made.calculate.matchAll(/datum\['(\w+)'\]/g)].at(-1)?.[1];
  return from ? columnOf(spec, from, rows) : undefined;
}

/** Box is a rectangle in pixels of the plot. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** cursorOf marks a place, as high or as wide as the plot: it is that of all series. */
export function cursorOf(place: Place, axis: 'x' | 'y' | undefined, { width, height }: { width: number; height: number }): Box | undefined {
  if (axis === 'x') return { left: place.left, top: 0, width: Math.max(1, place.width), height };
  return axis && { left: 0, top: place.top, width, height: Math.max(1, place.height) };
}

/** placesOf gives the places of a drawn chart, in the order of its axis. */
export function placesOf(scene: { items: Item[] }, spec: Spec, rows: Row[]): Place[] {
  const entries = (spec.encoding.tooltip as unknown as Entry[] | undefined) ?? [];
  const [main, ...others] = entries.map((entry) => entry.title ?? '');
  const measure = others.pop();
  const axis = axisOf(spec);
  const pie = spec.mark.type === 'arc';
  if (main === undefined || measure === undefined) return [];
  const column = (axis && !spec.encoding.x?.bin) || pie ? columnOf(spec, entries[0]!.field, rows) : undefined;
  const found = new Map<string, Place & { values: Map<string, string> }>();
  const all: Place[] = [];
  let repeated = false;
  for (const [{ x = 0, y = 0, width = 0, height = 0, startAngle, endAngle, datum = {}, tooltip = {} }, dx, dy] of itemsOf(scene.items)) {
    const label = tooltip[main] ?? '';
    const value = tooltip[measure] ?? '';
    const series = others[0] === undefined ? measure : (tooltip[others[0]] ?? '');
    const box = { left: x + dx, top: y + dy, width, height };
    all.push({ ...box, lines: entries.map(({ title = '' }) => [title, tooltip[title] ?? '']) });
    const place = found.get(label);
    if (!place) {
      found.set(label, {
        ...box, lines: [], values: new Map([[series, value]]), ...(pie && { slice: { from: Math.min(startAngle ?? 0, endAngle ?? 0), to: Math.max(startAngle ?? 0, endAngle ?? 0) } }),
        ...(column !== undefined && Object.hasOwn(datum, column) && { of: { column, value: datum[column], title: main, label } }),
      });
      continue;
    }
    repeated ||= place.values.has(series) && place.values.get(series) !== value;
    place.values.set(series, value);
    const [right, bottom] = [Math.max(place.left + place.width, box.left + width), Math.max(place.top + place.height, box.top + height)];
    place.left = Math.min(place.left, box.left);
    place.top = Math.min(place.top, box.top);
    place.width = right - place.left;
    place.height = bottom - place.top;
  }
  // Several points of the same series at a place are points of their own.
  const places: Place[] = (!axis && !pie) || repeated
    ? all
    : [...found].map(([label, { values, ...place }]) => ({ ...place, lines: [[main, label], ...values] }));
  return places.sort((a, b) => (axis === 'y' ? a.top - b.top : pie ? 0 : a.left - b.left));
}

/** nearest gives the index of the place that is nearest to a point of the plot. */
export function nearest(places: Place[], axis: 'x' | 'y' | undefined, x: number, y: number, size: { width: number; height: number }): number {
  let least = Infinity;
  let best = -1;
  places.forEach((place, i) => {
    const [dx, dy] = [x - place.left - place.width / 2, y - place.top - place.height / 2];
    let distance = axis === 'x' ? Math.abs(dx) + Math.abs(dy) / 1e6 : axis === 'y' ? Math.abs(dy) + Math.abs(dx) / 1e6 : Math.hypot(dx, dy);
    if (place.slice) {
      const angle = (Math.atan2(x - size.width / 2, size.height / 2 - y) + 2 * Math.PI) % (2 * Math.PI);
      distance = angle >= place.slice.from && angle < place.slice.to ? 0 : Infinity;
    }
    if (distance < least) [least, best] = [distance, i];
  });
  return best;
}
