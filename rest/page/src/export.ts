// A conversation as a Markdown document.
import { cellText, fieldsOf, rowsWords, type Row } from './rows';
import type { Run, Step } from './run';

/** toMarkdown writes a conversation: of each turn the question, the answer, the tables and the queries. */
export function toMarkdown(title: string, runs: Run[]): string {
  return [`# ${line(title)}`, ...runs.flatMap(turn)].join('\n\n') + '\n';
}

function turn(run: Run): string[] {
  const several = run.steps.length > 1;
  const answer = run.answer.trim() || line(run.failure) || (run.state === 'canceled' ? 'Stopped.' : '');
  return [
    `## ${line(run.question)}`,
    ...(answer ? [answer] : []),
    ...run.steps.flatMap((step, i) => [...(several ? [`### Step ${i + 1}: ${line(step.instruction)}`] : []), ...parts(step)]),
    ...(run.failedQuery ? [code(run.failedQuery)] : []),
  ];
}

function parts({ rows, truncated, query }: Step): string[] {
  return [
    ...(rows ? [rows.length ? table(rows) : 'No rows.'] : []),
    ...(truncated && rows ? [`The first ${rowsWords(rows.length)}; there are more.`] : []),
    ...(query ? [code(query)] : []),
  ];
}

function table(rows: Row[]): string {
  const fields = fieldsOf(rows);
  if (!fields.length) return rowsWords(rows.length);
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(fields.map((field) => line(field.name))),
    row(fields.map((field) => (field.numeric ? '---:' : '---'))),
    ...rows.map((values) => row(fields.map((field) => line(cellText(values[field.name]))))),
  ].join('\n');
}

/** line writes a text so that Markdown shows it as it is, on one line. */
const line = (text: string): string => text.trim().replace(/\s*[\r\n]+\s*/g, ' ').replace(/[\\`*_[\]{}<>|#~&!$]/g, '\\$&');

/** code is a block with a fence that is not in the text. */
function code(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}sql\n${text}\n${fence}`;
}
