import { describe, expect, test } from 'vitest';
import type { Row } from './rows';
import type { Step } from './run';
import type { Described } from './store';
import { followUps } from './suggest';

const dataset = (name: string, columns: Record<string, string>): Described => ({
  name, namespace: 'shop', owner: 'alice',
  metadata: { columns: Object.entries(columns).map(([name, type]) => ({ name, type })), rowCount: 9, dataDescription: null, schemaDefinition: null, access: 'owner' },
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
