import { describe, expect, test } from 'vitest';
import { byDay, found } from './days';
import { toMarkdown } from './export';
import type { Row } from './rows';
import type { Run, Step } from './run';
import type { Described } from './store';
import { followUps } from './suggest';

const dataset = (name: string, columns: Record<string, string>): Described => ({
  name, namespace: 'shop', owner: 'alice',
  metadata: { columns: Object.entries(columns).map(([name, type]) => ({ name, type })), rowCount: 9, access: 'owner' },
});
const shop = [
  dataset('customers', { customer_id: 'BIGINT', name: 'VARCHAR', city: 'VARCHAR' }),
  dataset('orders', { order_id: 'BIGINT', customer_id: 'BIGINT', ordered_at: 'TIMESTAMP', amount: 'DOUBLE', channel: 'VARCHAR', status: 'VARCHAR' }),
  dataset('documents', { document: 'VARCHAR', passage: 'BIGINT', text: 'VARCHAR' }),
];
const step = (query: string, rows: Row[]): Step => ({ id: 'step-0', instruction: '', reasoning: '', query, rows, truncated: false });

describe('follow-up questions', () => {
  test('go on from a sum by time, by another column and about the first row', () => {
    const rows = [{ city: 'Berlin', total_amount: 3 }, { city: 'Oslo', total_amount: 1 }];
    const query = 'SELECT "customers"."city", sum("orders"."amount") AS "total_amount" FROM "customers" JOIN "orders" ON true GROUP BY 1';
    expect(followUps(step(query, rows), shop)).toEqual([
      'What is the total amount of orders per month?',
      'What is the total amount of orders for each channel?',
      'What is the total amount of orders with city Berlin per month?',
    ]);
  });
  test('count where a query counts, and name no value that is no word', () => {
    const rows = [{ status: 'a"b', count: 3 }, { status: 'open', count: 1 }];
    const query = `SELECT "status", count(*) FROM "orders" WHERE date_trunc('month', "ordered_at") = '2025-01-01' GROUP BY 1`;
    expect(followUps(step(query, rows), shop)).toEqual(['How many orders are there for each channel?']);
    expect(followUps(step('SELECT count(*) FROM orders', [{ count: 4 }]), shop)).toEqual(['How many orders are there per month?', 'How many orders are there for each channel?']);
  });
  test('are none about documents, and about what is not known', () => {
    expect(followUps(step('SELECT text FROM documents', [{ text: 'x' }]), shop)).toEqual([]);
    expect(followUps(step('SELECT 1', [{ one: 1 }]), shop)).toEqual([]);
  });
});

describe('conversations', () => {
  const at = (title: string, ...time: [number, number, number, number?]) => ({ id: title, title, updatedAt: new Date(...time).getTime() });
  const list = [at('now', 2026, 2, 30, 9), at('midnight', 2026, 2, 30, 0), at('late', 2026, 2, 29, 23), at('march', 2026, 2, 28), at('then', 2025, 11, 31)];
  test('are grouped by day, also where a day has 23 hours', () => {
    const days = byDay(list, new Date(2026, 2, 30, 10));
    expect(days.map(({ label, list }) => [label, ...list.map((each) => each.title)])).toEqual([
      ['Today', 'now', 'midnight'], ['Yesterday', 'late'], ['March 28', 'march'], ['December 31, 2025', 'then'],
    ]);
  });
  test('are found by the words of their title', () => {
    const titled = [at('Orders by city', 2026, 0, 1), at('Cities of customers', 2026, 0, 1)];
    expect(found(titled, ' CITY  orders ').map((each) => each.title)).toEqual(['Orders by city']);
    expect(found(titled, '')).toHaveLength(2);
    expect(found(titled, 'cit x')).toHaveLength(0);
  });
});

describe('a conversation as Markdown', () => {
  const run = (more: Partial<Run>): Run => ({
    id: 'r', question: 'How many?', state: 'completed', steps: [], current: '', answer: '', model: '', failure: '', failedQuery: '', notUnderstood: false, suggestions: [], likely: false, alternatives: [], sharable: true, ...more,
  });
  test('has question, answer, table and query', () => {
    const rows = [{ city: 'a|b\n<i>*c*', n: 1, __metadata: { score: 1 } }, { city: null, n: '12.50' }];
    expect(toMarkdown('A # title', [run({ answer: 'There are **two**.\n', steps: [{ ...step('SELECT `x`, ```', rows), truncated: true }] })])).toBe(`# A \\# title

## How many?

There are **two**.

| city | n |
| --- | ---: |
| a\\|b \\<i\\>\\*c\\* | 1 |
|  | 12.50 |

The first 2 rows; there are more.

\`\`\`\`sql
SELECT \`x\`, \`\`\`
\`\`\`\`
`);
  });
  test('says what has no answer', () => {
    const text = toMarkdown('T', [run({ state: 'failed', failure: 'no such column', failedQuery: 'SELECT z' }), run({ state: 'canceled', question: 'Two\nlines' }), run({ steps: [step('SELECT 1', []), step('SELECT 2', [])] })]);
    for (const part of ['no such column\n\n```sql\nSELECT z', '## Two lines\n\nStopped.', '### Step 2: ', 'No rows.']) expect(text).toContain(part);
  });
});
