// Markdown is cut into tokens in a worker, which can be stopped: some texts take it
// hours, and whoever can write into data or documents can have such a text answered.
import type { Token } from 'marked';

/** How long a text may take, in milliseconds. */
const limit = 2000;

let worker: Promise<Worker> | undefined;
let last: Promise<unknown> = Promise.resolve();

/** tokensOf gives the tokens of a text; undefined when there are none to be had in time. */
export function tokensOf(text: string): Promise<Token[] | undefined> {
  const tokens = last.then(() => within(text)).catch(() => undefined);
  last = tokens;
  return tokens;
}

async function within(text: string): Promise<Token[] | undefined> {
  worker ??= start();
  const lexer = await worker.catch((error) => {
    worker = undefined;
    throw error;
  });
  const answer = once(lexer);
  lexer.postMessage(text);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error('too slow')), limit)));
  try {
    return (await Promise.race([answer, late])) as Token[] | undefined;
  } catch (error) {
    lexer.terminate();
    worker = undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** start gives a worker that is ready, so that no text pays for its start. */
async function start(): Promise<Worker> {
  const lexer = new Worker(new URL('./lex.worker.ts', import.meta.url), { type: 'module' });
  await once(lexer);
  return lexer;
}

/** once gives the next thing that a worker says. */
function once(lexer: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lexer.onmessage = (event) => resolve(event.data);
    lexer.onerror = lexer.onmessageerror = () => reject(new Error('the worker failed'));
  });
}
