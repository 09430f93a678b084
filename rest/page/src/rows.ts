// Rows as a table shows them.
import { inLocale } from './locale';

export type Row = Record<string, unknown>;

export interface Field {
  name: string;
  numeric: boolean;
}

/** A number that came as a text, since it is a decimal or a large one. */
const writtenNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** fieldsOf gives the columns of rows, in order, but for those that are internal. */
export function fieldsOf(rows: Row[]): Field[] {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) if (!name.startsWith('__')) names.add(name);
  return [...names].map((name) => ({ name, numeric: everyValue(rows, name, isNumber) }));
}

/** everyValue says whether all values of a column are of a kind, and there are some. */
function everyValue(rows: Row[], name: string, is: (value: unknown) => boolean): boolean {
  const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  return values.length > 0 && values.every(is);
}

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && (writtenNumber.test(value) || /^(NaN|-?Infinity)$/.test(value)));

export const isWrittenNumber = (value: unknown): boolean => typeof value === 'string' && writtenNumber.test(value);

/** cellText gives a value in full. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const longest = 120;

/** clipped gives as much of a text as a cell holds. */
export const clipped = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

/** A decimal that came as a text, or a whole number that is too large for another form. Texts of fewer digits may be codes. */
const exactNumber = /^-?(0|[1-9]\d*)\.(\d+)$|^-?[1-9]\d{15,}$/;

/** shown gives a value as people write it: numbers have their thousands apart, and so do written ones. */
export function shown(value: unknown, field: Field): string {
  const quantity = !/(^|_|\b)(id|year|zip|code|number)s?$/i.test(field.name) && !isYear(value, field);
  if (!quantity && !(typeof value === 'number' && !Number.isInteger(value))) return cellText(value);
  if (typeof value === 'number') return formatNumber(value, quantity);
  const exact = field.numeric && typeof value === 'string' && exactNumber.exec(value);
  if (!exact) return cellText(value);
  const digits = Math.min(exact[2]?.length ?? 0, 20);
  return inLocale(exact[0], { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** isYear says whether a number of a column that names years can be one. */
const isYear = (value: unknown, field: Field): boolean =>
  /(^|_|\b)years?(_|\b)/i.test(field.name) && typeof value === 'number' && value >= 1000 && value < 3000;

/**
 * formatNumber writes a number in full when it is short, else with two digits behind the point, or six that say something.
 * The thousands of quantities are apart.
 */
function formatNumber(value: number, quantity: boolean): string {
  const exact = String(value);
  const groups = quantity ? {} : { useGrouping: false };
  if (/e-/.test(exact)) return String(Number(value.toPrecision(6)));
  if (exact.replace(/\D/g, '').length <= 8) return inLocale(value, { maximumFractionDigits: 8, ...groups });
  return inLocale(value, { ...(Math.abs(value) < 1 ? { maximumSignificantDigits: 6 } : { maximumFractionDigits: 2 }), ...groups });
}

/** rowsWords says how many rows there are. */
export const rowsWords = (count: number): string => (count === 1 ? '1 row' : `${inLocale(count)} rows`);

/** rangeWords names a range of values, which may be a single one. */
export const rangeWords = (from: string, to: string): string => (from === to ? from : `${from} to ${to}`);

/** columnsWords says how many columns there are. */
export const columnsWords = (count: number): string => (count === 1 ? '1 column' : `${inLocale(count)} columns`);

/** scores gives each row's, where any is not a perfect one. */
export function scores(rows: Row[]): number[] | undefined {
  const all = rows.map((row) => {
    const metadata = row.__metadata as { score?: unknown } | null | undefined;
    return typeof metadata?.score === 'number' ? metadata.score : 1;
  });
  return all.some((score) => score < 1) ? all : undefined;
}
