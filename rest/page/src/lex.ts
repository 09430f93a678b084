// Markdown cut into tokens, which a text can make take for ever: see lexing.ts.
import { lexer, type Token, type Tokens } from 'marked';
import { deepest } from './depth';

/** lex gives the tokens of a text, no deeper than they are drawn; undefined when it cannot. */
export function lex(text: string): Token[] | undefined {
  try {
    const tokens = lexer(text, { gfm: true });
    prune(tokens, 0);
    return [...tokens]; // without the links that a list of tokens carries
  } catch {
    return undefined; // it is too deep
  }
}

/** prune cuts off what is too deep, each level of which repeats the text. */
function prune(tokens: Token[], depth: number): void {
  for (const token of tokens) {
    for (const inner of innerOf(token as Tokens.Generic)) {
      if (depth < deepest) prune(inner, depth + 1);
      else inner.length = 0;
    }
  }
}

function innerOf(token: Tokens.Generic): Token[][] {
  const cells: Tokens.TableCell[] = token.type === 'table' ? [...token.header, ...token.rows.flat()] : [];
  return [token.tokens, token.items, ...cells.map((cell) => cell.tokens)].filter((list) => list !== undefined);
}
