import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { notice, signIn, toProvider } from '../session';
import { settings } from '../settings';
import { Problem } from './Dialog';
import { Brand } from './Sidebar';

const provider = settings.signsIn || settings.authURL !== '';

export function SignIn(): VNode {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    signIn(text);
  };
  return (
    <main class="sign-in">
      <div class="card">
        <Brand />
        <h1>Ask about your data</h1>
        <Problem text={notice.value} />
        {provider && (
          <>
            <button type="button" class="primary wide" onClick={toProvider}>Sign in with your identity provider</button>
            <p class="or">or with a token</p>
          </>
        )}
        <form onSubmit={submit}>
          <label for="token">Token</label>
          <input id="token" ref={field} type="password" autocomplete="off" spellcheck={false} required value={text} placeholder="eyJhbGciOi…"
            onInput={(event) => setText(event.currentTarget.value)} />
          <button class={provider ? 'wide' : 'primary wide'}>Sign in</button>
        </form>
        <p class="hint">
          Where the server runs, <code>parley token alice</code> prints one. It is kept until you close this tab.
        </p>
      </div>
    </main>
  );
}
