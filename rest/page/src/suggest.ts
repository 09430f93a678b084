// Questions that the datasets of a namespace can answer, to begin with and to go on with.
import type { Column } from './api';
import { longestName } from './names';
import { fieldsOf } from './rows';
import type { Step } from './run';
import type { Described } from './store';

const isText = (c: Column) => /^(VARCHAR|TEXT|STRING)/i.test(c.type);
/** isKey tells of a column that names single things, as far as its last word says. */
const isKey = (c: Column) => /(^|[\W_])(ids?|no|nr|number|code|key|zip|postcode)$/i.test(c.name) || /[a-z]I[dD]$/.test(c.name);
const isNumber = (c: Column) => /^(DOUBLE|FLOAT|REAL|DECIMAL|BIGINT|INTEGER|HUGEINT)/i.test(c.type) && !isKey(c) && !/^year$/i.test(c.name);
const isTime = (c: Column) => /^(DATE|TIMESTAMP)/i.test(c.type);
/** isLabel tells of a column that rows are grouped by: a text that is not different in each row, as far as its name says. */
const isLabel = (c: Column) => isText(c) && !isKey(c) && !/(^|[\W_])(name|title|email|mail|phone|address|street|url|link|description|comments?|notes?|text|subject)$/i.test(c.name);
const words = (name: string) => name.replace(/[_.-]+/g, ' ').trim();

/** columnsOf gives the columns that a question can name. */
const columnsOf = (d: Described): Column[] => (d.metadata?.columns ?? []).filter((c) => c.name.length <= longestName);

/** hasRows tells of a dataset with rows, as far as that is known. */
const hasRows = (d: Described): boolean => d.metadata !== undefined && d.metadata.rowCount !== 0;

/** isPassages tells of a dataset of the passages of documents. */
export const isPassages = (d: Described): boolean =>
  hasRows(d) && ['document', 'passage', 'text'].every((name) => d.metadata!.columns.some((c) => c.name === name));

/** askable tells of a dataset whose name is the word for its rows. */
function askable(d: Described): boolean {
  const columns = columnsOf(d);
  return hasRows(d) && columns.length > 0 && !isPassages(d) && /s$/i.test(d.name);
}

/** amountOf is the number of a dataset that is worth adding up, as far as its name says; else any number. */
function amountOf(columns: Column[]): Column | undefined {
  const numbers = columns.filter((c) => isNumber(c) && !/(^|[\W_])(latitude|longitude|lat|lon|lng|year|month|day)$/i.test(c.name));
  return numbers.find((c) => /amount|revenue|sales|total|turnover|cost|value|price/i.test(c.name)) ?? numbers.find((c) => /^(DOUBLE|DECIMAL)/i.test(c.type)) ?? numbers[0];
}

/** suggest gives up to four questions that show what can be asked: over time, the first of many, a document, a number. */
export function suggest(datasets: Described[], document = ''): string[] {
  const all = datasets.filter(askable);
  const measured = (d: Described) => amountOf(columnsOf(d));
  const dated = all.find((d) => measured(d) && columnsOf(d).some(isTime));
  const main = dated ?? all.find(measured) ?? all[0];
  if (!main) return document ? [about(document)] : [];
  const number = measured(main);
  const named = all.find((d) => d !== main && columnsOf(d).some((c) => c.name === 'name') && columnsOf(main).some((c) => c.name.toLowerCase() === `${d.name.replace(/s$/i, '')}_id`.toLowerCase()));
  const label = columnsOf(main).find((c) => isLabel(c) && /city|country|region|category|type|status|kind|channel|segment/i.test(c.name)) ?? columnsOf(main).find(isLabel);
  return [
    ...(dated && number ? [`What is the total ${words(number.name)} of ${words(main.name)} per month?`] : []),
    ...(named && number ? [`Which 5 ${words(named.name)} have the highest total ${words(number.name)} of ${words(main.name)}?`] : []),
    ...(number && label && !(dated && named) ? [`What is the average ${words(number.name)} of ${words(main.name)} for each ${words(label.name)}?`] : []),
    ...(document ? [about(document)] : []),
    `How many ${words(main.name)} are there?`,
  ].slice(0, 4);
}

const about = (document: string): string => `What do the documents say about ${words(document.replace(/\.[^.]+$/, ''))}?`;

/** The longest value that is put into a question. */
const longestValue = 40;

/** followUps gives up to three questions that go on from a result: over time, by another column, about its first row. */
export function followUps({ query, rows = [] }: Step, datasets: Described[]): string[] {
  const inQuery = (name: string) => new RegExp(`(?<![\\p{L}\\p{N}_])${name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?![\\p{L}\\p{N}_])`, 'iu').test(query);
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
