// Questions that the datasets of a namespace can answer, to begin with and to go on with.
import type { Column } from './api';
import { longestName } from './names';
import { fieldsOf } from './rows';
import type { Step } from './run';
import type { Described } from './store';

const isText = (c: Column) => /^(VARCHAR|TEXT|STRING)/i.test(c.type);
const isNumber = (c: Column) => /^(DOUBLE|FLOAT|REAL|DECIMAL|BIGINT|INTEGER|HUGEINT)/i.test(c.type) && !/(^|_)id$|^year$/i.test(c.name);
const isTime = (c: Column) => /^(DATE|TIMESTAMP)/i.test(c.type);
/** isLabel tells of a column that rows are grouped by: a text that is not different in each row, as far as its name says. */
const isLabel = (c: Column) => isText(c) && !/(^|_)(id|name|title|email|mail|phone|address|street|url|link|description|comments?|notes?|text|code|number)$/i.test(c.name);
const words = (name: string) => name.replace(/[_.-]+/g, ' ').trim();

/** columnsOf gives the columns that a question can name. */
const columnsOf = (d: Described): Column[] => (d.metadata?.columns ?? []).filter((c) => c.name.length <= longestName);

/** askable tells of a dataset whose name is the word for its rows. */
function askable(d: Described): boolean {
  const columns = columnsOf(d);
  const passages = columns.some((c) => c.name === 'passage') && columns.some((c) => c.name === 'text');
  return (d.metadata?.rowCount ?? 0) > 0 && !passages && /s$/i.test(d.name);
}

/** suggest gives up to three questions. */
export function suggest(datasets: Described[]): string[] {
  const questions: string[] = [];
  for (const d of datasets.filter(askable)) {
    const columns = columnsOf(d);
    const number = columns.find((c) => isNumber(c) && c.type.toUpperCase() === 'DOUBLE') ?? columns.find(isNumber);
    const label = columns.find((c) => isText(c) && /city|country|region|category|type|status|kind/i.test(c.name)) ?? columns.find(isText);
    questions.push(`How many ${words(d.name)} are there?`);
    if (number && label) questions.push(`What is the average ${words(number.name)} of ${words(d.name)} for each ${words(label.name)}?`);
  }
  return questions.slice(0, 3);
}

/** The longest value that is put into a question. */
const longestValue = 40;

/** followUps gives up to three questions that go on from a result: over time, by another column, about its first row. */
export function followUps({ query, rows = [] }: Step, datasets: Described[]): string[] {
  const inQuery = (name: string) => new RegExp(`(?<![\\p{L}\\p{N}_])${name.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')}(?![\\p{L}\\p{N}_])`, 'iu').test(query);
  const used = datasets.filter((d) => askable(d) && inQuery(d.name));
  const measureOf = (d: Described) => columnsOf(d).find((c) => isNumber(c) && inQuery(c.name));
  const subject = used.find(measureOf) ?? used.find((d) => columnsOf(d).some(isNumber)) ?? used[0];
  if (!subject) return [];
  const subjects = words(subject.name);
  const measure = measureOf(subject);
  const total = /\bsum\s*\(/i.test(query);
  const what = measure ? `What is the ${total ? 'total' : 'average'} ${words(measure.name)} of ${subjects}` : `How many ${subjects} are there`;
  const labels = used.flatMap((d) => columnsOf(d).filter(isLabel));
  const time = columnsOf(subject).find(isTime);
  const monthly = time && !inQuery(time.name) ? ' per month' : '';
  const other = labels.find((c) => !inQuery(c.name));
  const shown = fieldsOf(rows).find((field) => labels.some((c) => c.name === field.name))?.name;
  const value = shown && rows.length > 1 ? rows[0]![shown] : undefined;
  const named = typeof value === 'string' && value.length <= longestValue && /^[\p{L}\p{N} -]+$/u.test(value);
  const further = monthly || (other ? ` for each ${words(other.name)}` : '');
  return [
    ...(monthly ? [`${what}${monthly}?`] : []),
    ...(other ? [`${what} for each ${words(other.name)}?`] : []),
    ...(named ? [`${what} with ${words(shown!)} ${value}${further}?`] : []),
    ...(shown && measure && total ? [`Which ${words(shown)} has the highest average ${words(measure.name)} of ${subjects}?`] : []),
  ].slice(0, 3);
}
