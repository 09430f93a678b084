// Questions that the datasets of a namespace can answer, to begin with.
import type { Column } from './api';
import type { Described } from './store';

const isText = (c: Column) => /^(VARCHAR|TEXT|STRING)/i.test(c.type);
const isNumber = (c: Column) => /^(DOUBLE|FLOAT|REAL|DECIMAL|BIGINT|INTEGER|HUGEINT)/i.test(c.type) && !/(^|_)id$|^year$/i.test(c.name);
const words = (name: string) => name.replace(/[_.-]+/g, ' ').trim();

/** suggest gives up to three questions. */
export function suggest(datasets: Described[]): string[] {
  const known = datasets.filter((d) => (d.metadata?.rowCount ?? 0) > 0);
  const questions: string[] = [];
  for (const d of known) {
    const columns = d.metadata!.columns;
    const passages = columns.some((c) => c.name === 'passage') && columns.some((c) => c.name === 'text');
    const number = columns.find((c) => isNumber(c) && c.type.toUpperCase() === 'DOUBLE') ?? columns.find(isNumber);
    const label = columns.find((c) => isText(c) && /city|country|region|category|type|status|kind/i.test(c.name)) ?? columns.find(isText);
    if (passages || !/s$/i.test(d.name)) continue;
    questions.push(`How many ${words(d.name)} are there?`);
    if (number && label) questions.push(`What is the average ${words(number.name)} of ${words(d.name)} for each ${words(label.name)}?`);
  }
  return questions.slice(0, 3);
}
