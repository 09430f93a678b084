// Which chart fits rows, and where its parts are.
import { everyValue, fieldsOf, isWrittenNumber, type Row } from './rows';

export interface Chart {
  kind: 'bar' | 'line';
  label: string;
  value: string;
  points: Point[];
  /** How many rows are left out, for they have no value. */
  without: number;
}

export interface Point {
  label: string;
  /** Where it is on the axis of a line: a time, in milliseconds. */
  at: number;
  value: number;
}

const mostBars = 40;
const day = /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;

/** chartOf gives the chart of one label and one number in each row, or none. */
export function chartOf(rows: Row[]): Chart | undefined {
  const fields = fieldsOf(rows);
  if (rows.length < 2 || fields.length !== 2) return undefined;
  const value = valueOf(rows, fields.map((field) => field.name));
  const label = fields.find((field) => field.name !== value)?.name;
  if (!value || !label) return undefined;
  const kept = rows.filter((row) => row[value] !== null && row[value] !== undefined);
  const points = kept.map((row) => ({ label: labelText(row[label]), at: timeOf(row[label]), value: Number(row[value]) }));
  if (points.length < 2 || points.some((point) => !(Math.abs(point.value) <= Number.MAX_SAFE_INTEGER))) return undefined;
  const without = rows.length - points.length;
  if (isTime(rows, label)) return lineOf(label, value, points, without);
  return points.length <= mostBars ? { kind: 'bar', label, value, points, without } : undefined;
}

/** valueOf gives the column that is drawn: the one of numbers that are no years. */
function valueOf(rows: Row[], names: string[]): string | undefined {
  const numbers = names.filter((name) => everyValue(rows, name, (v) => typeof v === 'number'));
  if (numbers.length === 1) return numbers[0];
  if (numbers.length === 2) return isYear(rows, numbers[0]!) ? numbers[1] : isYear(rows, numbers[1]!) ? numbers[0] : undefined;
  const written = names.filter((name) => everyValue(rows, name, isWrittenNumber));
  return written.length === 1 ? written[0] : undefined;
}

const isYear = (rows: Row[], name: string): boolean =>
  /year/i.test(name) && everyValue(rows, name, (v) => Number.isInteger(v) && Number(v) > 999 && Number(v) < 10000);

const isTime = (rows: Row[], name: string): boolean =>
  isYear(rows, name) || everyValue(rows, name, (v) => typeof v === 'string' && day.test(v) && Number.isFinite(timeOf(v)));

function lineOf(label: string, value: string, points: Point[], without: number): Chart | undefined {
  const line = points.filter((point) => Number.isFinite(point.at)).sort((a, b) => a.at - b.at);
  return line.length > 1 ? { kind: 'line', label, value, points: line, without: without + points.length - line.length } : undefined;
}

const labelText = (value: unknown): string => (value === null || value === undefined ? '(none)' : String(value));

function timeOf(value: unknown): number {
  if (typeof value === 'number') return Date.UTC(value, 0);
  return typeof value === 'string' ? Date.parse(value.replace(' ', 'T')) : NaN;
}

/** ticks gives round numbers that span a range, about as many as wanted. */
export function ticks(low: number, high: number, wanted = 4): number[] {
  if (low === high) return low === 0 ? [0, 1] : ticks(Math.min(0, low), Math.max(0, high), wanted);
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? 10 * power;
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** scale maps a range onto another. */
export const scale = (fromLow: number, fromHigh: number, toLow: number, toHigh: number) => (n: number): number =>
  fromHigh === fromLow ? (toLow + toHigh) / 2 : toLow + ((n - fromLow) / (fromHigh - fromLow)) * (toHigh - toLow);
