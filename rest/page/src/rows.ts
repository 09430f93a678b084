// Rows as a table shows them.
import { inLocale, separators } from './locale';

export type Row = Record<string, unknown>;

export interface Field {
  name: string;
  numeric: boolean;
  /** The digits behind the point that all its numbers are written with, so that they align. */
  digits?: number;
}

/** A number that came as a text, since it is a decimal or a large one. */
const writtenNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** fieldsOf gives the columns of rows, in order, but for those that are internal. */
export function fieldsOf(rows: Row[]): Field[] {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) if (!name.startsWith('__')) names.add(name);
  return [...names].map((name) => {
    const field = { name, numeric: everyValue(rows, name, isNumber) };
    return field.numeric ? { ...field, digits: Math.min(4, Math.max(...rows.map((row) => decimals(shown(row[name], field))))) } : field;
  });
}

const decimals = (text: string): number => text.split(separators().decimal)[1]?.length ?? 0;

export interface Sort {
  name: string;
  order: 'ascending' | 'descending';
}

/** nextSort is the sort after a press on the name of a column. */
export const nextSort = (sort: Sort | undefined, name: string): Sort => ({ name, order: sort?.name === name && sort.order === 'ascending' ? 'descending' : 'ascending' });

const texts = new Intl.Collator(undefined, { numeric: true });

/** sorted gives rows in the order of a column. Rows without a value are last. */
export function sorted(rows: Row[], { name, order }: Sort): Row[] {
  const numeric = everyValue(rows, name, isNumber);
  const sign = order === 'ascending' ? 1 : -1;
  const keys = new Map(rows.map((row) => {
    const value = row[name];
    return [row, value === null || value === undefined ? undefined : numeric ? Number(value) : cellText(value)];
  }));
  return rows.toSorted((a, b) => {
    const [left, right] = [keys.get(a), keys.get(b)];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return sign * (typeof left === 'number' ? Math.sign(left - (right as number)) || 0 : texts.compare(left, right as string));
  });
}

/** Figure is a result of one value: what it is of, and how it has changed where the result says so. */
export interface Figure {
  value: Field;
  of?: Field;
  changes: Field[];
}

/** figureOf gives the figure of a result; undefined where it has more than one value. */
export function figureOf(rows: Row[]): Figure | undefined {
  const fields = rows.length === 1 ? fieldsOf(rows) : [];
  const numbers = fields.filter((field) => field.numeric);
  const changes = numbers.length > 1 ? numbers.filter((field) => /(^|_)(change|difference|growth)(_|$)/i.test(field.name)) : [];
  const [value, ...others] = numbers.filter((field) => !changes.includes(field));
  const [of, ...more] = fields.filter((field) => !field.numeric);
  if (!value || others.length || more.length || /(^|_)id$/i.test(value.name) || cellText(rows[0]![of?.name ?? '']).length > 60) return undefined;
  return { value, of, changes };
}

/** title gives the name of a column as a title. */
export const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replace(/_+/g, ' ');

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
  if (typeof value === 'number') {
    const text = formatNumber(value, quantity);
    const { digits = 0 } = field;
    return !quantity || decimals(text) >= digits || /e/.test(text) ? text : inLocale(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
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
export const rowsWords = (count: number): string => (count === 1 ? '1 row' : count < 0 ? 'some rows' : `${inLocale(count)} rows`);

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
