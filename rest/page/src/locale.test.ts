import { describe, expect, test } from 'vitest';
import { inLocale, readNumber, separators } from './locale';

describe('numbers', () => {
  test.each([
    ['en', '-1,234,567.5', '1,234'],
    ['de', '-1.234.567,5', '1.234'],
    ['de-CH', '-1’234’567.5', '1’234'],
    ['fr', '-1\u202f234\u202f567,5', '1\u202f234'],
    ['sv', '-1\u202f234\u202f567,5', '1\u202f234'],
    ['es', '-1.234.567,5', '1.234'],
    ['en-IN', '-12,34,567.5', '1,234'],
    ['he', '-1,234,567.5', '1,234'],
  ])('are written as in %s', (locale, long, short) => {
    expect(inLocale(-1234567.5, {}, locale)).toBe(long);
    expect(inLocale('1234', {}, locale)).toBe(short);
  });
  test.each([
    ['en', '1,900', '1900'], ['en', ' 1,900.5 ', '1900.5'], ['en', '1900', '1900'], ['en', '-2', '-2'], ['en', '−0.5', '-0.5'], ['en', '1e3', '1e3'], ['en', '.5', '.5'],
    ['de', '1.900,5', '1900.5'], ['de', '1.900', '1900'], ['de', '1900.5', '1900.5'], ['de', '0,5', '0.5'], ['fr', '1 900', '1900'], ['de-CH', "1'900", '1900'],
    ['en-IN', '12,34,567', '1234567'], ['en', '1,9', undefined], ['en', 'abc', undefined], ['en', '', undefined], ['en', '1.2.3', undefined], ['en', '-', undefined],
  ])('are read as in %s: %s', (locale, text, want) => expect(readNumber(text, locale)).toBe(want));
  test('have separators for charts', () => {
    expect(separators('de')).toMatchObject({ decimal: ',', thousands: '.', minus: '-' });
    expect(separators('fr').thousands).toBe('\u202f');
    expect(separators('en-IN').grouping.slice(0, 3)).toEqual([3, 2, 2]);
    expect(separators('en').grouping.slice(0, 3)).toEqual([3, 3, 3]);
  });
});
