// The types of columns, in plain words.

const plain: Record<string, string> = {
  VARCHAR: 'text', BIGINT: 'whole number', INTEGER: 'whole number', HUGEINT: 'whole number', DOUBLE: 'number', BOOLEAN: 'yes or no',
  JSON: 'JSON', DATE: 'date', TIME: 'time of day', TIMESTAMP: 'date and time', 'TIMESTAMP WITH TIME ZONE': 'date and time with zone', BLOB: 'bytes',
};

/** typeWords says in plain words what a type is. */
export function typeWords(type: string): string {
  if (type.endsWith('[]')) {
    const words = typeWords(type.slice(0, -2));
    return `list of ${plurals[words] ?? words.replace(/^list\b/, 'lists')}`;
  }
  return type.startsWith('STRUCT(') ? 'object' : (plain[type.toUpperCase()] ?? type.toLowerCase());
}

const plurals: Record<string, string> = {
  'whole number': 'whole numbers', number: 'numbers', 'yes or no': 'yes and no', date: 'dates', 'time of day': 'times of day', 'date and time': 'dates and times',
  'date and time with zone': 'dates and times with zone', object: 'objects',
};

const names: Record<string, string> = { VARCHAR: 'text', BIGINT: 'integer', DOUBLE: 'number' };

/** choicesOf gives types as typeChoices has them. */
export const choicesOf = (types: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(types).map(([column, type]) => [column, names[type] ?? type.toLowerCase()]));

/** isNumeric says whether the values of a type are numbers. */
export const isNumeric = (type: string): boolean => /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U\w*INT\w*|FLOAT|DOUBLE|DECIMAL.*)$/i.test(type);

/** dated gives a type of dates, and the same with each order of day, month and year: 03/04/2025 has two readings. */
const dated = (name: string, words: string): [name: string, words: string][] => [
  [name, words], [`${name}:dmy`, `${words}, day first`], [`${name}:mdy`, `${words}, month first`], [`${name}:ymd`, `${words}, year first`],
];

/** The types that a column can be read as, by the names that the server has for them. */
export const typeChoices: [name: string, words: string][] = [
  ['text', 'text'], ['integer', 'whole number'], ['number', 'number'], ['decimal(18,2)', 'decimal, 2 places'], ['decimal(18,4)', 'decimal, 4 places'],
  ['boolean', 'yes or no'], ...dated('date', 'date'), ['time', 'time of day'], ...dated('timestamp', 'date and time'), ['timestamp with time zone', 'date and time with zone'],
];
