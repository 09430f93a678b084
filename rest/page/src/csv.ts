// Rows as spreadsheets take them: as a file and from the clipboard.
import { cellText, fieldsOf, isWrittenNumber, type Row } from './rows';

/** A sign that begins a formula, full-width or not, also after blanks; and blanks that spreadsheets take for one. */
const formula = /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/;

/** toCSV writes rows by RFC 4180, without formulas. */
export function toCSV(rows: Row[]): string {
  const names = fieldsOf(rows).map((field) => field.name);
  return [names.map(cell), ...rows.map((row) => names.map((name) => cell(row[name])))].map((line) => `${line.join(',')}\r\n`).join('');
}

function cell(value: unknown): string {
  const text = inert(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** inert gives the text of a value, with a quote before it if a spreadsheet would run it as a formula. */
function inert(value: unknown): string {
  const text = cellText(value);
  return typeof value !== 'number' && !isWrittenNumber(value) && formula.test(text) ? `'${text}` : text;
}

/** The formats of a copied table that spreadsheets and documents take. */
export interface Copied {
  text: string;
  html: string;
}

const escaped: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string): string => text.replace(/[&<>"]/g, (sign) => escaped[sign]!);

/** copied gives rows as TSV and as an HTML table, without formulas. */
export function copied(names: string[], rows: Row[]): Copied {
  const lines = [names.map(inert), ...rows.map((row) => names.map((name) => inert(row[name])))];
  const tsv = (text: string) => (/["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const html = lines.map((line, i) => `<tr>${line.map((text) => (i ? `<td>${escape(text)}</td>` : `<th>${escape(text)}</th>`)).join('')}</tr>`).join('');
  return { text: lines.map((line) => line.map(tsv).join('\t')).join('\n'), html: `<table>${html}</table>` };
}
