import { describe, expect, test } from 'vitest';
import { inLocale, separators } from './locale';

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
  test('have separators for charts', () => {
    expect(separators('de')).toMatchObject({ decimal: ',', thousands: '.', minus: '-' });
    expect(separators('fr').thousands).toBe('\u202f');
    expect(separators('en-IN').grouping.slice(0, 3)).toEqual([3, 2, 2]);
    expect(separators('en').grouping.slice(0, 3)).toEqual([3, 3, 3]);
  });
});
