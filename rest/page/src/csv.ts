// Rows as a file that a spreadsheet opens.
import { cellText, fieldsOf, isWrittenNumber, type Row } from './rows';

/** A sign that begins a formula, full-width or not, also after blanks; and blanks that spreadsheets take for one. */
const formula = /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/;

/** toCSV writes rows by RFC 4180. A text that a spreadsheet would run as a formula gets a quote before it. */
export function toCSV(rows: Row[]): string {
  const names = fieldsOf(rows).map((field) => field.name);
  const lines = [names.map(cell), ...rows.map((row) => names.map((name) => cell(row[name])))];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

function cell(value: unknown): string {
  let text = cellText(value);
  if (typeof value !== 'number' && !isWrittenNumber(value) && formula.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
