import { describe, expect, test } from 'vitest';
import { nearest, placesOf } from './chart/places';
import { asKind, kindsOf, toSpec, type Spec } from './chart/spec';
import { copied, toCSV } from './csv';
import { plain } from './entities';
import { lex } from './lex';
import { datasetName, distinct, isUUID, shortened, shortName, tableName, uuid } from './names';
import { safeLink } from './markdown';
import { countQuery, rowsQuery } from './data/filter';
import { typeWords } from './data/types';
import { hrefOf, parse } from './place';
import { fieldsOf, figureOf, nextSort, rangeWords, scores, shown, sorted } from './rows';
import { plainAnswer, toRun, withoutTechnical } from './run';
import { format, piecesOf, rowsBehind } from './sql';
import { followUps, suggest } from './suggest';
import { ended, fold, waits, type Event, type Task } from './task';

describe('a chart', () => {
  const value = { field: 'n', type: 'quantitative', scale: { zero: false } };
  const chart = (type: string, x: object, y: object, more: object = {}) => ({ description: '', mark: { type }, encoding: { x, y, ...more } }) as Spec;
  test('is drawn as the kinds that fit its axes', () => {
    expect(kindsOf(chart('bar', value, { type: 'nominal' }))).toEqual(['bar', 'point']);
    expect(kindsOf(chart('line', { type: 'temporal' }, value))).toEqual(['line', 'bar', 'area', 'point']);
    expect(kindsOf(chart('line', { type: 'temporal' }, value, { color: { field: 'city' } }))).toEqual(['line', 'area', 'point']);
    expect(kindsOf(chart('bar', { ...value, bin: true }, { aggregate: 'count', type: 'quantitative' }))).toEqual(['bar']);
    expect(kindsOf(chart('point', value, value))).toEqual(['point']);
  });
  test('has bars and areas from zero, and stacks what the server stacks', () => {
    const line = chart('line', { type: 'temporal' }, value, { xOffset: { field: 'city' } });
    expect(asKind(line, 'line')).toBe(line);
    expect(asKind(line, 'bar').encoding.y).toMatchObject({ scale: { zero: true }, stack: null });
    expect(asKind(line, 'point').encoding.y).toMatchObject({ scale: { zero: false }, stack: null });
    expect(asKind(line, 'area').encoding.xOffset).toBeUndefined();
    const bars = chart('bar', { type: 'ordinal' }, { ...value, stack: 'zero' });
    expect(asKind(bars, 'area').encoding.y!.stack).toBe('zero');
    expect(asKind(bars, 'line').encoding.y!.stack).toBeNull();
  });
  test('is none where the server sends none', () => {
    for (const wrong of [undefined, null, 'bar', {}, { mark: 'bar' }]) expect(toSpec(wrong)).toBeUndefined();
  });
});

describe('a CSV file', () => {
  test('quotes what needs it and leaves out what is internal', () => {
    expect(toCSV([{ a: 'x, "y"\nz', b: null, __metadata: {} }, { a: { k: [1] }, b: true }])).toBe('a,b\r\n"x, ""y""\nz",\r\n"{""k"":[1]}",true\r\n');
  });
  test('holds no formula', () => {
    const texts = ['=1+1', '+1', '-1x', '@a', '\tx', '\rx', '-2+3', '\nx', '＝1+1', '＋1', '－1', '＠a', ' =1+1', '\u00a0\u3000＝1', ' -1'];
    for (const text of texts) {
      expect(toCSV([{ a: text }])).toMatch(/\r\n"?'/);
      expect(copied(['a'], [{ a: text }]).text).toMatch(/^a\n"?'/);
      expect(copied(['a'], [{ a: text }]).html).toContain("<td>'");
    }
    expect(copied(['=a'], [{ '=a': -1 }, { '=a': '-1.50' }])).toEqual({ text: "'=a\n-1\n-1.50", html: "<table><tr><th>'=a</th></tr><tr><td>-1</td></tr><tr><td>-1.50</td></tr></table>" });
    expect(toCSV([{ '=a': 1 }])).toBe("'=a\r\n1\r\n");
    expect(toCSV([{ a: ' x-1', b: 'a=b', c: '1 + 1' }])).toBe('a,b,c\r\n x-1,a=b,1 + 1\r\n');
  });
  test('keeps numbers, written ones too', () => {
    expect(toCSV([{ a: -1, b: '-12345678901234567890', c: '-1.50' }])).toBe('a,b,c\r\n-1,-12345678901234567890,-1.50\r\n');
  });
});

describe('a query', () => {
  test('is cut into pieces that make it up', () => {
    const sql = `SELECT a, 'it''s -- no', "b "" c", 1.5e3 -- note\nFROM t /* x */ WHERE ü = 'open`;
    expect(piecesOf(sql).map((piece) => piece.text).join('')).toBe(sql);
    expect(piecesOf(sql).filter((piece) => piece.kind === 'keyword').map((piece) => piece.text)).toEqual(['SELECT', 'FROM', 'WHERE']);
    expect(piecesOf(sql).filter((piece) => piece.kind === 'text').map((piece) => piece.text)).toEqual(["'it''s -- no'", "'open"]);
  });
  test('has each clause on a line', () => {
    expect(format('SELECT city, sum(x ORDER BY y) FROM a LEFT JOIN b USING (id) WHERE extract(year FROM d) IS DISTINCT FROM 1 GROUP BY 1')).toBe(
      'SELECT city, sum(x ORDER BY y)\nFROM a\nLEFT JOIN b USING (id)\nWHERE extract(year FROM d) IS DISTINCT FROM 1\nGROUP BY 1');
    expect(format('WITH t AS (SELECT left(a, 1) FROM b) SELECT * FROM t UNION ALL SELECT 1')).toBe(
      'WITH t AS (SELECT left(a, 1)\n  FROM b)\nSELECT *\nFROM t\nUNION ALL\nSELECT 1');
  });
  test('stays as it is where it has lines, or texts of another kind', () => {
    for (const sql of ['SELECT 1\nFROM t', 'SELECT $$ a  FROM b $$', "SELECT E'a\\' FROM b'"]) expect(format(sql)).toBe(sql);
  });
  test('is cut in time, whatever it is', () => {
    for (const text of ["'".repeat(1e5), '/*'.repeat(1e5), '"'.repeat(1e5 + 1), '('.repeat(1e5)]) expect(piecesOf(text).length).toBeGreaterThan(0);
  });
});

describe('the rows behind a place of a chart', () => {
  test('are those of its query, with its conditions', () => {
    const sql = `SELECT p."category", sum(o.amount) AS "total" FROM products p JOIN orders o ON o.product_id = p.product_id WHERE a = 1 OR b = 2 GROUP BY p."category" ORDER BY 2 LIMIT 5`;
    expect(rowsBehind(sql, 'category', "O'Neil")).toBe(`SELECT *\nFROM products p JOIN orders o ON o.product_id = p.product_id\nWHERE (a = 1 OR b = 2) AND (p."category") = 'O''Neil'`);
    expect(rowsBehind('SELECT date_trunc(\'month\', "day") AS month, count(*) FROM orders GROUP BY 1', 'month', null)).toBe('SELECT *\nFROM orders\nWHERE (date_trunc ( \'month\' , "day" )) IS NULL');
    expect(rowsBehind('SELECT year, count(*) FROM a, b GROUP BY year', 'YEAR', 2025)).toBe('SELECT *\nFROM a, b\nWHERE (year) = 2025');
    for (const other of ['WITH x AS (SELECT 1) SELECT city FROM x', 'SELECT city FROM a UNION SELECT city FROM b', 'SELECT * FROM a', 'SELECT city FROM a -- x', '']) expect(rowsBehind(other, 'city', 1)).toBeUndefined();
  });

  test('are in a pie the slice under the pointer', () => {
    const pie = { description: '', mark: { type: 'arc' }, encoding: { theta: { field: 'share', type: 'quantitative' }, color: { field: 'kind', type: 'nominal' }, tooltip: [{ field: 'kind', title: 'Kind' }, { field: 'share', title: 'Share' }] as never } } as Spec;
    const rows = [{ kind: 'a', share: 0.75 }, { kind: 'b', share: 0.25 }];
    const angles = [[0, 1.5 * Math.PI], [1.5 * Math.PI, 2 * Math.PI]] as const;
    const places = placesOf({ items: rows.map((datum, i) => ({ datum, startAngle: angles[i]![1], endAngle: angles[i]![0], tooltip: { Kind: datum.kind, Share: String(datum.share) } })) }, pie, rows);
    const size = { width: 100, height: 100 };
    expect([nearest(places, undefined, 90, 50, size), nearest(places, undefined, 40, 40, size)]).toEqual([0, 1]);
    expect(kindsOf(pie)).toEqual(['arc', 'bar']);
    expect(asKind(pie, 'bar').encoding).toMatchObject({ x: { field: 'share' }, y: { field: 'kind', sort: '-x' } });
  });

  test('have all series of a point of the axis together', () => {
    const spec = { description: '', mark: { type: 'line' }, encoding: { x: { type: 'temporal' }, y: { type: 'quantitative' }, tooltip: [{ field: 'label', title: 'Month' }, { field: 'kind', title: 'Kind' }, { field: 'n', title: 'Number' }] as never }, transform: [{ calculate: "utcFormat(datum['month'], '%b')", as: 'label' }] } as Spec;
    const rows = [{ month: '2025-01', kind: 'a', n: 1 }, { month: '2025-01', kind: 'b', n: 2 }, { month: '2025-02', kind: 'a', n: 3 }];
    const scene = { items: [{ x: 0, y: 0, items: [{ items: rows.map((datum, i) => ({ x: i === 2 ? 50 : 10, y: i, datum, tooltip: { Month: i === 2 ? 'Feb' : 'Jan', Kind: datum.kind, Number: String(datum.n) } })) }] }] };
    const places = placesOf(scene, spec, rows);
    expect(places.map((place) => place.lines)).toEqual([[['Month', 'Jan'], ['a', '1'], ['b', '2']], [['Month', 'Feb'], ['a', '3']]]);
    expect(places[0]!.of).toEqual({ column: 'month', value: '2025-01', title: 'Month', label: 'Jan' });
    expect([0, 29, 31, 99].map((x) => nearest(places, 'x', x, 0, { width: 100, height: 100 }))).toEqual([0, 0, 1, 1]);
  });
});

describe('tables of answers', () => {
  test('are sorted by numbers, also written ones, or texts, with what is missing last', () => {
    const rows = [{ n: '10.5', t: 'b10' }, { n: null, t: 'b9' }, { n: '9', t: null }];
    expect(sorted(rows, { name: 'n', order: 'ascending' }).map((row) => row.n)).toEqual(['9', '10.5', null]);
    expect(sorted(rows, { name: 'n', order: 'descending' }).map((row) => row.n)).toEqual(['10.5', '9', null]);
    expect(sorted(rows, { name: 't', order: 'ascending' }).map((row) => row.t)).toEqual(['b9', 'b10', null]);
    expect(nextSort(nextSort(undefined, 'n'), 'n')).toEqual({ name: 'n', order: 'descending' });
  });

  test('have as many digits behind the point in all numbers of a column', () => {
    const rows = [{ n: 1234.5 }, { n: 7.25 }, { n: 3 }];
    const [field] = fieldsOf(rows);
    expect(rows.map((row) => shown(row.n, field!))).toEqual(['1,234.50', '7.25', '3.00']);
  });

  test('of one value are a figure', () => {
    expect(figureOf([{ count: 3, __metadata: {} }])?.value.name).toBe('count');
    expect(figureOf([{ city: 'Bern', count: 3 }])?.of?.name).toBe('city');
    expect(figureOf([{ revenue: 3, change_percent: 1.5 }])?.changes.map((field) => field.name)).toEqual(['change_percent']);
    expect(figureOf([{ difference: 3 }])?.value.name).toBe('difference');
    for (const rows of [[{ a: 1, b: 2 }], [{ order_id: 1 }], [{ name: 'Ada' }], [{ n: 1 }, { n: 2 }], []]) expect(figureOf(rows)).toBeUndefined();
  });
});

describe('types', () => {
  test('have names for people', () => {
    for (const [type, words] of [['VARCHAR[]', 'list of text'], ['BIGINT[]', 'list of whole numbers'], ['DOUBLE[]', 'list of numbers'], ['BOOLEAN[]', 'list of yes and no'],
      ['DATE[][]', 'list of lists of dates'], ['DECIMAL(18,2)[]', 'list of decimal(18,2)'], ['STRUCT(a BIGINT[])', 'object'], ['STRUCT(a BIGINT)[]', 'list of objects'], ['JSON', 'JSON']]) {
      expect(typeWords(type!)).toBe(words);
    }
  });
});

describe('rows', () => {
  test('have fields in order, numbers by what all values are', () => {
    expect(fieldsOf([{ a: 1, b: 'x' }, { a: '9007199254740993', c: null }])).toEqual([
      { name: 'a', numeric: true, digits: 0 }, { name: 'b', numeric: false }, { name: 'c', numeric: false },
    ]);
  });
  test('have scores where some are not perfect', () => {
    expect(scores([{ __metadata: { score: 1 } }, {}])).toBeUndefined();
    expect(scores([{ __metadata: { score: 0.5 } }, {}])).toEqual([0.5, 1]);
  });
  test('show numbers as people write them, and ids as they are', () => {
    expect(shown(1234567.891, { name: 'amount', numeric: true })).toBe('1,234,567.89');
    expect([1e-7, 0.1234567891, 1.2345, 10 / 3, 0].map((n) => shown(n, { name: 'amount', numeric: true }))).toEqual(['1e-7', '0.123457', '1.2345', '3.33', '0']);
    expect(shown(2025, { name: 'year', numeric: true })).toBe('2025');
    expect([1929, 1929.6666666667, 12500].map((n) => shown(n, { name: 'year_built', numeric: true }))).toEqual(['1929', '1929.67', '12,500']);
    expect(shown(123456, { name: 'order_id', numeric: true })).toBe('123456');
    expect(['-27425.50', '9007199254740993', '5551234', '1e5'].map((text) => shown(text, { name: 'amount', numeric: true }))).toEqual(['-27,425.50', '9,007,199,254,740,993', '5551234', '1e5']);
    expect(shown('12345.50', { name: 'amount', numeric: false })).toBe('12345.50');
  });
});

const ids = { taskId: 't', contextId: 'c' };
const status = (state: string, messageId?: string, parts: object[] = []): Event => ({
  statusUpdate: { ...ids, status: { state: `TASK_STATE_${state}`, ...(messageId ? { message: { messageId, role: 'ROLE_AGENT', parts } } : {}) } },
});
const artifact = (artifactId: string, parts: object[], metadata?: Record<string, unknown>): Event => ({
  artifactUpdate: { ...ids, artifact: { artifactId, parts, metadata } },
});
const rows = (...list: object[]) => ({ data: { rows: list, rowCount: list.length, truncated: false } });

const assistant: Event[] = [
  { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' }, history: [{ messageId: 'q', role: 'ROLE_USER', parts: [{ text: 'Why?' }] }] } },
  status('WORKING'),
  status('WORKING', 'm1', [{ text: 'Two steps.' }, { data: { steps: ['One', 'Two'] } }]),
  status('WORKING', 'm2', [{ text: 'One' }]),
  artifact('step-0', [{ text: 'SELECT 1' }, rows({ a: 1 })], { index: 0, instruction: 'One', reasoning: 'R' }),
  status('WORKING', 'm3', [{ text: 'Two' }]),
  artifact('step-1', [{ text: 'SELECT 2' }, rows({ a: 2 })], { index: 1, instruction: 'Two', reasoning: '' }),
  artifact('answer', [{ text: '**Because**' }]),
  status('COMPLETED'),
];
const folded = (events: Event[]): Task => events.reduce<Task | undefined>(fold, undefined)!;

describe('a task', () => {
  test('is what its events make of it', () => {
    const run = toRun(folded(assistant), '');
    expect(run).toMatchObject({
      id: 't', question: 'Why?', state: 'completed', answer: '**Because**', current: '', sharable: true,
      plan: { reasoning: 'Two steps.', steps: ['One', 'Two'] },
      steps: [{ id: 'step-0', query: 'SELECT 1', rows: [{ a: 1 }], reasoning: 'R' }, { id: 'step-1', instruction: 'Two' }],
    });
  });
  test('is the same when it is caught up with, wherever the stream broke', () => {
    const whole = toRun(folded(assistant), '');
    for (let cut = 1; cut < assistant.length; cut++) {
      for (let back = 1; back <= cut; back++) {
        const caught = [...assistant.slice(0, cut), { task: folded(assistant.slice(0, back)) }, ...assistant.slice(back)];
        expect(toRun(folded(caught), '')).toEqual(whole);
        // Events that come twice have their old places.
        expect(toRun(folded([...assistant.slice(0, cut), ...assistant.slice(cut - back)]), '').steps).toEqual(whole.steps);
      }
    }
  });
  test('tells what is being done', () => {
    expect(toRun(folded(assistant.slice(0, 2)), '').current).toBe('Thinking');
    expect(toRun(folded(assistant.slice(0, 3)), '').current).toBe('Planning');
    expect(toRun(folded(assistant.slice(0, 4)), '')).toMatchObject({ current: 'One', state: 'working' });
    expect(ended(folded(assistant.slice(0, 8)))).toBe(false);
    expect(ended(folded(assistant))).toBe(true);
  });
  test('of nl2ql is one step', () => {
    const events = [status('WORKING'), artifact('generated-query', [{ text: 'SELECT' }], { reasoning: 'R' }), artifact('result-data', [{ text: '1 row' }, rows({ n: 3 })])];
    expect(toRun(folded(events.slice(0, 2)), 'Q')).toMatchObject({ question: 'Q', steps: [{ query: 'SELECT', rows: undefined }] });
    expect(toRun(folded(events), 'Q')).toMatchObject({ answer: '', steps: [{ rows: [{ n: 3 }], reasoning: 'R' }] });
    const none = [artifact('generated-query', [{ text: '-- no query' }], { answered: false }), artifact('result-data', [{ text: 'No.' }, rows()])];
    expect(toRun(folded(none), 'Q')).toMatchObject({ answer: 'No.', steps: [], sharable: false });
  });
  test('says why it failed', () => {
    const run = toRun(folded([...assistant.slice(0, 5), status('FAILED', 'm9', [{ text: 'no such column' }, { data: { code: 'X', query: 'SELECT z' } }])]), '');
    expect(run).toMatchObject({ state: 'failed', failure: 'no such column', failedQuery: 'SELECT z', steps: [{ id: 'step-0' }] });
    expect(toRun(folded([...assistant.slice(0, 5), status('CANCELED')]), '').state).toBe('canceled');
  });
  test('has suggestions where the question was not understood', () => {
    const refused = (data: object) => toRun(folded([status('WORKING'), status('FAILED', 'm9', [{ text: 'Not understood: “x”.' }, { data }])]), 'Q');
    expect(refused({ code: 'NOT_UNDERSTOOD', words: ['x'], suggestions: ['How many?', 7, ''] })).toMatchObject({
      state: 'failed', failure: 'Not understood: “x”.', suggestions: ['How many?'], steps: [],
    });
    expect(refused({ code: 'NOT_UNDERSTOOD' }).suggestions).toEqual([]);
    expect(refused({ code: 'NOT_UNDERSTOOD' }).notUnderstood).toBe(true);
    expect(refused({ code: 'QUERY_FAILED', suggestions: ['x'] })).toMatchObject({ notUnderstood: false, suggestions: [] });
    const step = (n: number, suggestions?: string[]) => artifact(`step-${n}`, [rows()], { answered: !suggestions, suggestions });
    const answered = (...steps: Event[]) => toRun(folded([status('WORKING'), ...steps, status('COMPLETED')]), 'Q');
    expect(answered(step(0, ['a', 'b']), step(1, ['b']))).toMatchObject({ notUnderstood: true, suggestions: ['a', 'b'] });
    expect(answered(step(0, ['a']), step(1))).toMatchObject({ notUnderstood: false, suggestions: [], sharable: false });
  });
  test('says that it is only likely, and what else the question could mean', () => {
    const alternatives = [{ id: '1', label: 'a &amp; b', query: 'SELECT 2' }, { id: '2', label: 7 }, 'x'];
    const events = [artifact('step-0', [{ text: 'SELECT 1' }, rows({ n: 3 })], { confidence: 0.5, certainty: 'likely', alternatives }), artifact('answer', [{ text: '3' }])];
    const end = status('COMPLETED');
    end.statusUpdate!.metadata = { answered: true, confidence: 0.5, certainty: 'likely', alternatives };
    expect(toRun(folded([...events, end]), 'Q')).toMatchObject({ likely: true, alternatives: ['a & b'], steps: [{ likely: true }] });
    expect(toRun(folded(assistant), 'Q')).toMatchObject({ likely: false, alternatives: [], steps: [{ likely: false }, {}] });
  });
  test('says what it asks, and goes on from there', () => {
    const options = [{ id: '1', label: 'opened &amp; so on', query: 'SELECT 1' }, { id: '2', label: 'done' }];
    const question = status('INPUT_REQUIRED', 'm4', [{ text: 'Which do you mean?\n1. opened\n2. done' }, { data: { name: 'reading', step: 0, options } }]);
    const asked = folded([...assistant.slice(0, 4), question]);
    expect([waits(asked), ended(asked)]).toEqual([true, false]);
    expect(toRun(asked, '')).toMatchObject({
      state: 'waiting', current: '', plan: { steps: ['One', 'Two'] },
      asks: { question: 'Which do you mean?', options: [{ id: '1', label: 'opened & so on', query: 'SELECT 1' }, { id: '2', label: 'done', query: '' }] },
    });
    const answer = { messageId: 'a', role: 'ROLE_USER', parts: [{ text: '2' }] };
    const answered = { ...asked, history: [...asked.history, asked.status.message!, answer], status: { state: 'TASK_STATE_SUBMITTED' } };
    const whole = folded([...assistant.slice(0, 4), question, { task: answered }, status('WORKING'), ...assistant.slice(4)]);
    expect(toRun(whole, '')).toMatchObject({ question: 'Why?', state: 'completed', asks: undefined, answer: '**Because**' });
    expect(toRun(folded([status('INPUT_REQUIRED', 'm', [{ text: 'Sign in.' }])]), '').asks).toEqual({ question: 'Sign in.', options: [] });
    expect(toRun(folded([status('AUTH_REQUIRED')]), '').asks).toEqual({ question: 'The agent waits for an answer.', options: [] });
    expect(toRun(folded([status('INPUT_REQUIRED', 'm', [{ data: { options: ['x', { id: 7 }] } }])]), '').asks?.options).toEqual([]);
  });
  test('that makes no sense does no harm', () => {
    expect(toRun(folded([{ task: {} }, artifact('step-0', [{ data: { rows: [1, null, 'x'] } }])]), 'Q').steps[0]?.rows).toEqual([{}, {}, {}]);
    expect(fold(undefined, {})).toBeUndefined();
  });
});

describe('a place', () => {
  test('is read as it is written', () => {
    const id = uuid();
    expect(isUUID(id)).toBe(true);
    expect(parse(hrefOf('a b/ü', 'shop', id))).toEqual({ owner: 'a b/ü', namespace: 'shop', view: 'conversation', conversation: id, dataset: '' });
    expect(parse(hrefOf('a', 'shop', 'data', 'x.y'))).toEqual({ owner: 'a', namespace: 'shop', view: 'data', conversation: '', dataset: 'x.y' });
    expect(parse(hrefOf('a', 'shop', 'data'))?.view).toBe('data');
    expect(parse(hrefOf('a', 'shop', 'board'))?.view).toBe('board');
    expect(parse(hrefOf('a', 'shop', 'shared', id))).toMatchObject({ view: 'shared', shared: id, dataset: '' });
    expect(parse(hrefOf('a', 'shop', 'shared', 'x'))).toBeUndefined();
    expect(parse(hrefOf('a', 'shop'))?.view).toBe('new');
    for (const wrong of ['', '#', '#/a', '#/a//x', '#token=x', '#/a/b/c/d', '#/%ff/x', '#/../x', '#/a/%2e']) expect(parse(wrong)).toBeUndefined();
  });
});

describe('Markdown', () => {
  test('links only where it is safe', () => {
    expect(safeLink('https://a.example/x')).toBe('https://a.example/x');
    expect(safeLink('mailto:a@b.example')).toBe('mailto:a@b.example');
    for (const wrong of ['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'vbscript:x', '/here', 'x']) expect(safeLink(wrong)).toBeUndefined();
  });
  test('that nests without end is cut off', () => {
    const depthOf = (value: unknown): number => (typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0);
    expect(lex('> '.repeat(5000) + 'a')).toBeUndefined();
    for (const text of ['> '.repeat(60) + 'a', '- '.repeat(60) + 'a', '*_'.repeat(60) + 'a' + '_*'.repeat(60)]) {
      const tokens = lex(text)!;
      expect(tokens[0]!.raw).toBe(text);
      expect(depthOf(tokens)).toBeLessThan(120);
    }
    expect(lex('| a |\n| - |\n| **b** |')).toMatchObject([{ type: 'table', rows: [[{ tokens: [{ type: 'strong' }] }]] }]);
  });
  test('has the characters that entities stand for', () => {
    expect(plain('&lt;b&gt; &amp;amp; &#60; &#x3c; &nope; &#99999999;')).toBe('<b> &amp; < < &nope; &#99999999;');
  });
});

test('a file names its dataset', () => {
  expect(datasetName('Orders 2025 (final).csv')).toBe('Orders_2025_final');
  expect(datasetName('sales.ndjson.gz')).toBe('sales');
  expect(datasetName('.csv')).toBe('data');
  expect(datasetName('données.csv')).toBe('donnees');
  expect(datasetName('Straße.csv')).toBe('Stra_e');
  expect(datasetName('日本.csv')).toBe('data_9f26ee51');
  expect(datasetName('2024 Москва.csv')).toBe('2024_7c19a663');
  expect(datasetName('📊.csv')).toBe('data_6f962889');
  expect(tableName('x'.repeat(128), '日本')).toBe(`${'x'.repeat(114)}_data_9f26ee51`);
  expect(tableName('book', 'May')).toBe('book_May');
  expect(distinct(['a', 'A', 'b', 'a'])).toEqual(['a', 'A_2', 'b', 'a_3']);
});

test('a long name is cut between characters', () => {
  const family = '👩\u200d👩\u200d👧\u200d👦';
  expect(shortened('short', 5)).toBe('short');
  expect(shortened('longer', 5)).toBe('long…');
  expect(shortened(family.repeat(5), 5)).toBe(family.repeat(5));
  expect(shortened(family.repeat(6), 5)).toBe(`${family.repeat(4)}…`);
  expect(shortName('x'.repeat(250))).toHaveLength(40);
});

test('rows are copied as spreadsheets take them', () => {
  const { text, html } = copied(['a', 'b'], [{ a: 'x\ty', b: null }, { a: '<b>&', b: 1.5 }]);
  expect(text).toBe('a\tb\n"x\ty"\t\n<b>&\t1.5');
  expect(html).toBe('<table><tr><th>a</th><th>b</th></tr><tr><td>x\ty</td><td></td></tr><tr><td>&lt;b&gt;&amp;</td><td>1.5</td></tr></table>');
});

test('a filter is quoted', () => {
  const filter = { column: 'a"b', is: '=' as const, value: "it's" };
  expect(countQuery('my.data', filter)).toBe(`SELECT count(*) AS n FROM "my.data" WHERE "a""b" = 'it''s'`);
  expect(rowsQuery('d', { ...filter, is: 'missing' }, { limit: 5, offset: 10, sort: 'a"b', order: 'desc' }))
    .toBe('SELECT * FROM "d" WHERE "a""b" IS NULL ORDER BY "a""b" DESC NULLS LAST LIMIT 5 OFFSET 10');
});

test('questions are suggested of what there is', () => {
  const metadata = { columns: [{ name: 'id', type: 'BIGINT' }, { name: 'city', type: 'VARCHAR' }, { name: 'amount', type: 'DOUBLE' }], rowCount: 3, access: 'owner' as const };
  const orders = { owner: 'a', namespace: 's', name: 'orders', metadata };
  expect(suggest([orders])).toEqual(['What is the average amount of orders for each city?', 'How many orders are there?']);
  expect(suggest([{ ...orders, metadata: { ...metadata, rowCount: 0 } }, { ...orders, metadata: undefined }])).toEqual([]);
});

test('questions that are suggested show a period, the first of many and a document', () => {
  const dataset = (name: string, columns: [string, string][]) => ({ owner: 'a', namespace: 's', name, metadata: { columns: columns.map(([name, type]) => ({ name, type })), rowCount: 3 } }) as never;
  const orders = dataset('orders', [['order_id', 'BIGINT'], ['customer_id', 'BIGINT'], ['ordered_at', 'TIMESTAMP'], ['quantity', 'BIGINT'], ['amount', 'DOUBLE']]);
  const customers = dataset('customers', [['customer_id', 'BIGINT'], ['name', 'VARCHAR']]);
  expect(suggest([customers, orders], 'shipping.md')).toEqual([
    'What is the total amount of orders per month?', 'Which 5 customers have the highest total amount of orders?',
    'What do the documents say about shipping?', 'How many orders are there?',
  ]);
});

test('no keys are added up or grouped by, and names may have any characters', () => {
  const columns = [['Ticket No', 'VARCHAR'], ['Emp ID', 'BIGINT'], ['orderId', 'BIGINT'], ['sub-region', 'VARCHAR'], ['Satisfaction (1-5)', 'DOUBLE']].map(([name, type]) => ({ name, type })) as never;
  const tickets = { owner: 'a', namespace: 's', name: 'tickets', metadata: { columns, rowCount: 3 } } as never;
  expect(suggest([tickets])).toEqual(['What is the average Satisfaction (1 5) of tickets for each sub region?', 'How many tickets are there?']);
  const step = { id: '', instruction: '', reasoning: '', truncated: false, query: 'SELECT "Ticket No" FROM tickets WHERE "sub-region" = 1', rows: [] };
  expect(followUps(step, [tickets])).toEqual([]);
});

test('an answer of one step does not refer to it, and notes on joins belong to the query', () => {
  const note = '3 rows of `customers` are left out: they have no match in `orders`.';
  expect(plainAnswer(`**Ada** leads. [step 1]\n\n${note}`, 1)).toBe('**Ada** leads.');
  expect(plainAnswer('Four. [step 1] [step 2]', 2)).toBe('Four. [step 1] [step 2]');
  expect(withoutTechnical('Read as: amount per city. Joined by orders.id = cities.id and a.b = c.d. Not used: x.')).toEqual({
    text: 'Read as: amount per city. Not used: x.', technical: 'Joined by orders.id = cities.id and a.b = c.d.',
  });
});

test.each([['3', '5', '3 to 5'], ['3', '3', '3']])('ranges from %s to %s', (from, to, want) => expect(rangeWords(from, to)).toBe(want));
