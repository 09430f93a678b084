// What can be changed in a chart that the server made.
import type { Row } from '../rows';

/** Spec is a Vega-Lite specification of one view, without its rows. */
export interface Spec extends Record<string, unknown> {
  description: string;
  mark: Mark;
  encoding: Record<string, Channel>;
  usermeta?: { choices?: Choice[] };
}

/** Choice is another measure: its spec is what to replace in the chart. */
export interface Choice {
  title: string;
  spec: Partial<Spec>;
}

type Mark = { type: string } & Record<string, unknown>;
type Channel = { type?: string } & Record<string, unknown>;

/** toSpec gives a chart of the server, or none where it has no parts that can be drawn. */
export function toSpec(value: unknown): Spec | undefined {
  const spec = value as Partial<Spec> | null | undefined;
  return typeof spec?.mark === 'object' && typeof spec.encoding === 'object' ? (spec as Spec) : undefined;
}

export const choicesOf = (spec: Spec): Choice[] => spec.usermeta?.choices ?? [];

export const kinds = { arc: 'Pie', bar: 'Bars', line: 'Line', area: 'Area', point: 'Points' } as const;

export type Kind = keyof typeof kinds;

/** kindsOf gives the kinds of chart that show the same rows, the server's first. */
export function kindsOf(spec: Spec): Kind[] {
  const own = spec.mark.type as Kind;
  const { x, y, color } = spec.encoding;
  if (own === 'arc') return ['arc', 'bar'];
  if (own === 'point' || x?.bin) return [own];
  if (y?.type !== 'quantitative') return own === 'bar' ? ['bar', 'point'] : [own];
  // Bars at points in time would hide each other.
  const all: Kind[] = x?.type === 'temporal' && color ? ['line', 'area', 'point'] : ['bar', 'line', 'area', 'point'];
  return [own, ...all.filter((kind) => kind !== own)];
}

const marks: Record<Exclude<Kind, 'arc'>, Mark> = {
  bar: { type: 'bar' },
  line: { type: 'line', point: true },
  area: { type: 'area', line: true, opacity: 0.35 },
  point: { type: 'point', filled: true, size: 60 },
};

/** asKind draws a chart as another kind. Values are stacked only where the server stacks them. */
export function asKind(spec: Spec, kind: Kind): Spec {
  if (kind === spec.mark.type || kind === 'arc') return spec;
  if (spec.mark.type === 'arc') return partsAsBars(spec);
  const encoding = Object.fromEntries(
    Object.entries(spec.encoding).filter(([channel]) => kind === 'point' || !channel.endsWith('Offset')).map(([name, channel]) => [name, measureAs(name, channel, kind)]),
  );
  return { ...spec, mark: marks[kind], encoding };
}

function partsAsBars({ encoding: { theta, color, tooltip }, ...spec }: Spec): Spec {
  const { legend: _, sort: __, ...parts } = color!;
  const { stack: ___, ...value } = theta!;
  return { ...spec, mark: marks.bar, height: { step: 24 }, encoding: { y: { ...parts, sort: '-x' }, x: value, tooltip: tooltip! } };
}

/** The most bars that have their values written beside them. */
const mostValues = 10;

/** The width of a character of a value, in pixels. */
const character = 6.6;

/** withValues writes the values of a few bars, where there is room for them, and of all slices. */
export function withValues(spec: Spec, rows: Row[], width: number, ink: string): Spec | Record<string, unknown> {
  const { x, y, theta, color, tooltip } = spec.encoding;
  const value = (tooltip as unknown as Channel[] | undefined)?.at(-1);
  const { mark, ...rest } = spec;
  const write = (how: object, drawn = mark) => [{ mark: drawn }, { mark: { type: 'text', fontSize: 12, ...how }, encoding: { text: value, tooltip: { value: null }, color: { value: ink } } }];
  if (mark.type === 'arc') {
    return { ...rest, layer: write({ radius: { expr: 'min(width, height) / 2 - 12' } }, { ...mark, outerRadius: { expr: 'min(width, height) / 2 - 30' } }), encoding: { ...spec.encoding, theta: { ...theta, stack: true } } };
  }
  const bars = mark.type === 'bar' && !x?.bin && rows.length <= mostValues && (x?.stack ?? y?.stack) !== 'zero' && value?.field;
  if (!bars) return spec;
  const lying = x?.type === 'quantitative';
  const longest = Math.max(...rows.flatMap((row) => Object.values(row).map((each) => (Number.isFinite(Number(each)) ? Number(each).toLocaleString('en', { maximumFractionDigits: 2 }).length : 0))));
  const room = 12 + longest * character;
  if (!lying && (width - 80 - (color ? 120 : 0)) / rows.length < room) return spec;
  const negative = `datum['${String(value.field)}'] < 0`;
  const aligned = lying
    ? { align: { expr: `${negative} ? 'right' : 'left'` }, dx: { expr: `${negative} ? -4 : 4` } }
    : { baseline: { expr: `${negative} ? 'top' : 'bottom'` }, dy: { expr: `${negative} ? 4 : -4` } };
  return { ...rest, layer: write(aligned), padding: lying ? { left: 4, top: 4, right: room, bottom: 4 } : { left: 4, top: 4, right: 12, bottom: 4 } };
}

function measureAs(name: string, channel: Channel, kind: Kind): Channel {
  if ((name !== 'x' && name !== 'y') || channel.type !== 'quantitative') return channel;
  const filled = kind === 'bar' || kind === 'area';
  return {
    ...channel,
    // A filled mark is read by its length.
    scale: { ...(channel.scale as object | undefined), ...(filled && { zero: true }) },
    stack: filled && channel.stack ? channel.stack : null,
  };
}
