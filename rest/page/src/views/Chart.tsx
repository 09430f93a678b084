import type { VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { scale, ticks, type Chart } from '../chart';
import { formatNumber, rowsWords } from '../rows';

/** ChartView draws a chart as wide as there is room. */
export function ChartView({ chart }: { chart: Chart }): VNode {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  const Draw = chart.kind === 'bar' ? Bars : Line;
  return (
    <div class="chart" ref={frame}>
      {width > 0 && <Draw chart={chart} width={width} />}
      {chart.without > 0 && <p class="hint">Not drawn: {rowsWords(chart.without)} without a value.</p>}
    </div>
  );
}

interface Drawn {
  chart: Chart;
  width: number;
}

const describe = (chart: Chart): string => {
  const points = chart.points.slice(0, 12).map((p) => `${p.label} ${formatNumber(p.value)}`);
  return `${chart.value} by ${chart.label}: ${points.join(', ')}${chart.points.length > 12 ? ', …' : ''}`;
};

const pen = document.createElement('canvas').getContext('2d');

/** wide measures texts as they will be drawn, and gives the width of the widest. */
function wide(texts: string[]): number {
  if (!pen) return 100;
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(...texts.map((text) => pen.measureText(text).width)));
}

function cut(text: string, room: number): string {
  if (wide([text]) <= room) return text;
  let most = Math.min(text.length, 80);
  while (most > 1 && wide([`${text.slice(0, most)}…`]) > room) most--;
  return `${text.slice(0, most)}…`;
}

/** Bars lie, so that their labels can be read on a phone too. */
function Bars({ chart, width }: Drawn): VNode {
  const { points } = chart;
  const pitch = points.length > 15 ? 24 : 32;
  const height = points.length * pitch + 4;
  const left = Math.min(wide(points.map((p) => p.label.slice(0, 80))) + 12, width * 0.35);
  const values = points.map((p) => p.value);
  const right = wide(values.map(formatNumber)) + 12;
  const x = scale(Math.min(0, ...values), Math.max(0, ...values) || 1, left, Math.max(left + 20, width - right));
  return (
    <svg width={width} height={height} role="img" aria-label={describe(chart)}>
      {points.map((p, i) => {
        const [from, to] = [x(0), x(p.value)].sort((a, b) => a - b) as [number, number];
        const middle = i * pitch + pitch / 2 + 2;
        return (
          <g class="bar">
            <title>{`${p.label}: ${formatNumber(p.value)}`}</title>
            <text class="label" x={left - 10} y={middle} text-anchor="end">{cut(p.label, left - 12)}</text>
            <rect x={from} y={i * pitch + 5} width={Math.max(1.5, to - from)} height={pitch - 8} rx={4} />
            <text class="value" x={to + 8} y={middle}>{formatNumber(p.value)}</text>
          </g>
        );
      })}
    </svg>
  );
}

const tall = 260;

function Line({ chart, width }: Drawn): VNode {
  const { points } = chart;
  const values = points.map((p) => p.value);
  const low = Math.min(...values);
  const steps = ticks(low > 0 && low > Math.max(...values) * 0.6 ? low : Math.min(0, low), Math.max(...values));
  const left = wide(steps.map(formatNumber)) + 14;
  const y = scale(steps[0]!, steps.at(-1)!, tall - 30, 12);
  const x = scale(points[0]!.at, points.at(-1)!.at, left + 4, width - 14);
  const path = points.map((p, i) => `${i ? 'L' : 'M'}${x(p.at).toFixed(1)} ${y(p.value).toFixed(1)}`).join('');
  const bottom = y(Math.min(0, steps.at(-1)!));
  return (
    <svg width={width} height={tall} role="img" aria-label={describe(chart)}>
      {steps.map((n) => (
        <g>
          <line class="grid" x1={left} x2={width - 8} y1={y(n)} y2={y(n)} />
          <text class="label" x={left - 8} y={y(n)} text-anchor="end">{formatNumber(n)}</text>
        </g>
      ))}
      {steps[0]! <= 0 && <path class="area" d={`${path}L${x(points.at(-1)!.at).toFixed(1)} ${bottom}L${x(points[0]!.at).toFixed(1)} ${bottom}Z`} />}
      <path class="line" d={path} />
      {labelled(points.length, width).map((i, k, all) => (
        <text class="label" x={x(points[i]!.at)} y={tall - 12} text-anchor={k === 0 ? 'start' : k === all.length - 1 ? 'end' : 'middle'}>
          {points[i]!.label.slice(0, 10)}
        </text>
      ))}
      {points.length <= 60 && points.map((p) => (
        <circle class="dot" cx={x(p.at)} cy={y(p.value)} r={3.5}><title>{`${p.label}: ${formatNumber(p.value)}`}</title></circle>
      ))}
    </svg>
  );
}

/** labelled gives the points that have a label: the first, the last, and some between. */
function labelled(count: number, width: number): number[] {
  const most = Math.max(2, Math.min(count, Math.floor(width / 130)));
  return Array.from({ length: most }, (_, k) => Math.round((k * (count - 1)) / (most - 1)));
}
