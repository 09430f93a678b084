// What can be changed in a chart that the server made.

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

export const kinds = { bar: 'Bars', line: 'Line', area: 'Area', point: 'Points' } as const;

export type Kind = keyof typeof kinds;

/** kindsOf gives the kinds of chart that show the same rows, the server's first. */
export function kindsOf(spec: Spec): Kind[] {
  const own = spec.mark.type as Kind;
  const { x, y, color } = spec.encoding;
  if (own === 'point' || x?.bin) return [own];
  if (y?.type !== 'quantitative') return own === 'bar' ? ['bar', 'point'] : [own];
  // Bars at points in time would hide each other.
  const all: Kind[] = x?.type === 'temporal' && color ? ['line', 'area', 'point'] : ['bar', 'line', 'area', 'point'];
  return [own, ...all.filter((kind) => kind !== own)];
}

const marks: Record<Kind, Mark> = {
  bar: { type: 'bar' },
  line: { type: 'line', point: true },
  area: { type: 'area', line: true, opacity: 0.35 },
  point: { type: 'point', filled: true, size: 60 },
};

/** asKind draws a chart as another kind. Values are stacked only where the server stacks them. */
export function asKind(spec: Spec, kind: Kind): Spec {
  if (kind === spec.mark.type) return spec;
  const encoding = Object.fromEntries(
    Object.entries(spec.encoding).filter(([channel]) => kind === 'point' || !channel.endsWith('Offset')).map(([name, channel]) => [name, measureAs(name, channel, kind)]),
  );
  return { ...spec, mark: marks[kind], encoding };
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
