// Rows of a dataset that a condition holds for, as SQL.
import { readNumber } from '../locale';
import { isNumeric } from './types';

export interface Filter {
  column: string;
  is: Comparison;
  value: string;
}

export type Comparison = 'contains' | '=' | '<>' | '>=' | '<=' | 'missing';

export const comparisons: [Comparison, string][] = [
  ['contains', 'contains'], ['=', 'is'], ['<>', 'is not'], ['>=', 'is at least'], ['<=', 'is at most'], ['missing', 'is missing'],
];

/** readFilter reads the value that a number is compared with as its reader writes numbers. */
export function readFilter(filter: Filter, columns: { name: string; type: string }[]): Filter {
  const numeric = columns.some((c) => c.name === filter.column && isNumeric(c.type));
  if (!numeric || filter.is === 'contains' || filter.is === 'missing') return filter;
  const value = readNumber(filter.value);
  if (value === undefined) throw new Error(`“${filter.value}” is not a number.`);
  return { ...filter, value };
}

const name = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function condition({ column, is, value }: Filter): string {
  if (is === 'missing') return `${name(column)} IS NULL`;
  if (is === 'contains') return `contains(lower(CAST(${name(column)} AS VARCHAR)), lower(${literal(value)}))`;
  return `${name(column)} ${is} ${literal(value)}`; // the text is read as the column's type
}

export interface PageOf {
  limit: number;
  offset: number;
  sort: string;
  order: 'asc' | 'desc';
}

/** rowsQuery gives a page of the rows of a dataset that a filter lets through. */
export function rowsQuery(dataset: string, filter: Filter, { limit, offset, sort, order }: PageOf): string {
  const by = sort ? ` ORDER BY ${name(sort)} ${order === 'desc' ? 'DESC' : 'ASC'} NULLS LAST` : '';
  return `SELECT * FROM ${name(dataset)} WHERE ${condition(filter)}${by} LIMIT ${limit} OFFSET ${offset}`;
}

/** countQuery counts them, as n. */
export const countQuery = (dataset: string, filter: Filter): string => `SELECT count(*) AS n FROM ${name(dataset)} WHERE ${condition(filter)}`;
