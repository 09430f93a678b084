// Markdown as nodes. No HTML is ever made of a text: what looks like it is shown as it is.
import type { Token, Tokens } from 'marked';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deepest } from './depth';
import { plain } from './entities';
import { tokensOf } from './lexing';

/** reference is what an answer says of a step, such as [step 1]. */
const reference = /\[step (\d+)\]/g;

export interface MarkdownProps {
  text: string;
  /** Called with the index of a step that a reference leads to. */
  onStep?: (index: number) => void;
}

/** Markdown shows a text as it was written until it can be drawn, and for good when it cannot. */
export function Markdown({ text, onStep }: MarkdownProps): VNode {
  const [tokens, setTokens] = useState<Token[]>();
  useEffect(() => {
    let wanted = true;
    setTokens(undefined);
    void tokensOf(text).then((found) => wanted && setTokens(found));
    return () => {
      wanted = false;
    };
  }, [text]);
  if (!tokens) return <div class="markdown plain">{text}</div>;
  return <div class="markdown">{new Drawing(onStep).all(tokens, 0)}</div>;
}

/** safeLink gives an address that may be followed, or none. */
export function safeLink(href: string): string | undefined {
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

class Drawing {
  constructor(private readonly onStep?: (index: number) => void) {}

  all(tokens: Token[] | undefined, depth: number): ComponentChildren {
    return tokens?.map((token) => (depth > deepest ? token.raw : this.one(token, depth + 1)));
  }

  private one(token: Token, depth: number): ComponentChildren {
    const inner = () => this.all((token as Tokens.Generic).tokens, depth);
    switch (token.type) {
      case 'space':
      case 'def':
        return null;
      case 'heading': {
        const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as 'h3';
        return <Heading>{inner()}</Heading>;
      }
      case 'paragraph':
        return <p>{inner()}</p>;
      case 'blockquote':
        return <blockquote>{inner()}</blockquote>;
      case 'code':
        return <pre><code>{plain((token as Tokens.Code).text)}</code></pre>;
      case 'hr':
        return <hr />;
      case 'list':
        return this.list(token as Tokens.List, depth);
      case 'table':
        return this.table(token as Tokens.Table, depth);
      case 'strong':
        return <strong>{inner()}</strong>;
      case 'em':
        return <em>{inner()}</em>;
      case 'del':
        return <del>{inner()}</del>;
      case 'codespan':
        return <code>{plain((token as Tokens.Codespan).text)}</code>;
      case 'br':
        return <br />;
      case 'link':
        return this.link((token as Tokens.Link).href, inner() as ComponentChildren);
      case 'image':
        return this.link((token as Tokens.Image).href, (token as Tokens.Image).text || (token as Tokens.Image).href);
      case 'escape':
        return (token as Tokens.Escape).text;
      case 'text':
        return (token as Tokens.Text).tokens ? inner() : this.words(plain((token as Tokens.Text).text));
      default:
        return token.raw;
    }
  }

  private link(href: string, inner: ComponentChildren): ComponentChildren {
    const address = safeLink(href);
    return address ? <a href={address} target="_blank" rel="noopener noreferrer">{inner}</a> : inner;
  }

  private list(token: Tokens.List, depth: number): ComponentChildren {
    const items = token.items.map((item) => (
      <li>
        {item.task && (item.checked ? '☑ ' : '☐ ')}
        {this.all(item.tokens, depth)}
      </li>
    ));
    return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
  }

  private table(token: Tokens.Table, depth: number): ComponentChildren {
    const numeric = token.header.map((_, i) => token.rows.length > 0 && token.rows.every((row) => /^-?[\d,]*\.?\d+%?$/.test(row[i]?.text ?? '')));
    const side = (cell: Tokens.TableCell, i: number) => (cell.align === 'right' || (!cell.align && numeric[i]) ? 'number' : undefined);
    return (
      <div class="scroll">
        <table>
          <thead>
            <tr>{token.header.map((cell, i) => <th class={side(cell, i)} scope="col">{this.all(cell.tokens, depth)}</th>)}</tr>
          </thead>
          <tbody>
            {token.rows.map((row) => <tr>{row.map((cell, i) => <td class={side(cell, i)}>{this.all(cell.tokens, depth)}</td>)}</tr>)}
          </tbody>
        </table>
      </div>
    );
  }

  /** words makes the references to steps something to press. */
  private words(text: string): ComponentChildren {
    if (!this.onStep) return text;
    return text.split(reference).map((part, i) =>
      i % 2 ? <button type="button" class="reference" onClick={() => this.onStep?.(Number(part) - 1)}>step {part}</button> : part,
    );
  }
}
