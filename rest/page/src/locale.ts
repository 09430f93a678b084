// Numbers as the reader writes them. The server writes those of its answers alike: internal/locale has the same rules.

/** The locale that the browser asks for, with Western digits; English where it is none. */
const reader = tagOf(globalThis.navigator?.language ?? 'en');

function tagOf(tag: string): string {
  try {
    return new Intl.Locale(tag, { numberingSystem: 'latn' }).toString();
  } catch {
    return 'en';
  }
}

const formats = new Map<string, Intl.NumberFormat>();

/**
 * inLocale writes a number, which may be a text of digits, with its thousands apart. Sources of locales differ in which space
 * and which apostrophe they have: these are the narrow and the round one.
 */
export function inLocale(value: number | string, options: Intl.NumberFormatOptions = {}, locale = reader): string {
  const key = locale + JSON.stringify(options);
  let format = formats.get(key);
  if (!format) formats.set(key, (format = new Intl.NumberFormat(locale, { useGrouping: 'always', ...options })));
  return format.format(value as number).replace(/\s/g, '\u202f').replace(/'/g, '’').replace(/^\D+(?=\d)/, '-');
}

/** readNumber gives a number that a reader has written, with or without separators, as SQL has it; undefined if it is none. */
export function readNumber(text: string, locale = reader): string | undefined {
  const { decimal, thousands } = separators(locale);
  const written = text.trim().replace(/\s/g, '\u202f').replace(/'/g, '’').replace(/^[−–]/, '-');
  const [whole = '', ...fraction] = written.split(decimal);
  const digits = thousands ? whole.split(thousands).join('') : whole;
  const plain = [digits, ...fraction].join('.');
  const grouped = inLocale(digits, {}, locale) === whole || digits === whole;
  return [grouped ? plain : '', written].find((each) => /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(each));
}

/** separators gives what stands between digits, as d3 and Vega take it. */
export function separators(locale = reader): { decimal: string; thousands: string; grouping: number[]; currency: [string, string]; minus: string } {
  const sample = inLocale(1234567.5, {}, locale);
  const marks = sample.match(/\D/g)!;
  const [others = 3, last = 3] = sample.split(/\D/).slice(-3, -1).map((digits) => digits.length);
  return { decimal: marks.at(-1)!, thousands: marks.length > 1 ? marks[0]! : '', grouping: [last, ...Array<number>(9).fill(others)], currency: ['', ''], minus: '-' };
}
