// SQL cut into words, to be coloured and laid out. It is not checked: the server does that.

export type Kind = 'comment' | 'text' | 'name' | 'number' | 'word' | 'space' | 'other';

export interface Piece {
  kind: Kind | 'keyword';
  text: string;
}

// What is not closed goes to the end. No part can match a text in two ways, which would take long.
const pattern =
  /(?<comment>--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|(?<text>'(?:[^']|'')*'?)|(?<name>"(?:[^"]|"")*"?)|(?<number>\d[\w.]*)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<space>\s+)|(?<other>[^])/gu;

const keywords = new Set(
  `ALL AND ANTI ANY AS ASC ASOF BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END EXCEPT EXISTS FALSE FILTER FIRST FROM FULL GROUP HAVING ILIKE IN
  INNER INTERSECT INTERVAL IS JOIN LAST LEFT LIKE LIMIT NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION QUALIFY RIGHT ROWS
  SELECT SEMI THEN TRUE UNION UNNEST USING VALUES WHEN WHERE WINDOW WITH`.split(/\s+/),
);

/** piecesOf cuts a query; together, the pieces are the query. */
export function piecesOf(sql: string): Piece[] {
  return Array.from(sql.matchAll(pattern), (match) => {
    const kind = Object.entries(match.groups!).find(([, text]) => text !== undefined)![0] as Kind;
    return { kind: kind === 'word' && keywords.has(match[0].toUpperCase()) ? 'keyword' : kind, text: match[0] };
  });
}

const join = /^((NATURAL|ASOF|LEFT|RIGHT|FULL|INNER|CROSS|SEMI|ANTI|OUTER)\s+)*JOIN\b/i;
const clauses = new Set(['SELECT', 'FROM', 'WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'WINDOW', 'ORDER', 'LIMIT', 'OFFSET', 'UNION', 'INTERSECT', 'EXCEPT']);

/**
 * format puts each clause of a query that is one line on a line of its own. Only blanks change; a query with
 * texts that this lexer does not know stays as it is.
 */
export function format(sql: string): string {
  if (/[\n\\$]/.test(sql)) return sql;
  const pieces = piecesOf(sql.trim());
  const queries: boolean[] = [true]; // for each open parenthesis, whether a query is in it
  let out = '';
  let before = '';
  pieces.forEach(({ kind, text }, i) => {
    if (kind === 'space') return void (out += out.endsWith('\n') ? '' : ' ');
    const word = kind === 'keyword' ? text.toUpperCase() : '';
    if (before === '(') queries[queries.length - 1] = word === 'SELECT' || word === 'WITH';
    const rest = () => pieces.slice(i, i + 8).map((piece) => piece.text).join('');
    const begins = (clauses.has(word) && before !== 'DISTINCT') || (word !== '' && !join.test(`${before} JOIN`) && join.test(rest()));
    if (begins && queries.at(-1) && before && before !== '(') out = `${out.trimEnd()}\n${'  '.repeat(queries.filter(Boolean).length - 1)}`;
    if (text === '(') queries.push(false);
    if (text === ')' && queries.length > 1) queries.pop();
    out += text;
    before = word || text;
  });
  return out;
}

/**
 * rowsBehind gives the query of the rows that a result was computed from where a column of it has a value; undefined
 * of a query that is not a single SELECT with that column.
 */
export function rowsBehind(sql: string, column: string, value: unknown): string | undefined {
  const clauses = new Map<string, string[][]>(); // the items between commas, each with its pieces
  let depth = 0;
  let at: string[][] = [];
  let before = '';
  for (const { kind, text } of piecesOf(sql.trim().replace(/;$/, ''))) {
    const word = kind === 'keyword' ? text.toUpperCase() : '';
    if (kind === 'comment' || (depth === 0 && /^(WITH|UNION|INTERSECT|EXCEPT|QUALIFY|WINDOW)$/.test(word))) return undefined;
    if (depth === 0 && clauseWords.has(word) && !(word === 'FROM' && before === 'DISTINCT')) clauses.set(word, (at = [[]]));
    else if (depth === 0 && text === ',' && before !== '') at.push([]);
    else at.at(-1)?.push(text);
    depth += text === '(' ? 1 : text === ')' ? -1 : 0;
    if (kind !== 'space') before = word || text;
  }
  const [from, where] = [clauses.get('FROM'), clauses.get('WHERE')];
  const expression = clauses.get('SELECT')?.map((item) => expressionOf(item.filter((text) => text.trim()), column)).find(Boolean);
  if (!from || !expression) return undefined;
  const words = (items: string[][]) => items.map((item) => item.join('')).join(',').trim();
  const is = value === null ? 'IS NULL' : `= ${typeof value === 'string' ? `'${value.replace(/'/g, "''")}'` : String(value)}`;
  return `SELECT *\nFROM ${words(from)}\nWHERE ${where ? `(${words(where)}) AND ` : ''}(${expression}) ${is}`;
}

const clauseWords = new Set(['SELECT', 'FROM', 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET']);

/** expressionOf gives the expression of an item of a SELECT list with a name; '' of another item. */
function expressionOf(pieces: string[], name: string): string {
  const last = pieces.at(-1) ?? '';
  const own = last.startsWith('"') ? last.slice(1, -1).replace(/""/g, '"') : last;
  if (own.toLowerCase() !== name.toLowerCase()) return '';
  if (pieces.at(-2)?.toUpperCase() === 'AS') return pieces.slice(0, -2).join(' ');
  return pieces.length === 1 || pieces.at(-2) === '.' ? pieces.join('') : '';
}
