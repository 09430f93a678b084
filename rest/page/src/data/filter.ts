// Rows of a dataset that a condition holds for, as SQL.

export interface Filter {
  column: string;
  is: Comparison;
  value: string;
}

export type Comparison = 'contains' | '=' | '<>' | '>=' | '<=' | 'missing';

export const comparisons: [Comparison, string][] = [
  ['contains', 'contains'], ['=', 'is'], ['<>', 'is not'], ['>=', 'is at least'], ['<=', 'is at most'], ['missing', 'is missing'],
];

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
