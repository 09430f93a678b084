import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { agents, agentWords, type Agent } from '../a2a';
import { rowsOf } from '../api';
import { toMarkdown } from '../export';
import { download } from '../files';
import { chooseModel, model, models, builtInOnly } from '../models';
import { datasetName, listWords } from '../names';
import { here, hrefOf, place } from '../place';
import { mayAdd } from '../rights';
import { user } from '../session';
import { ask, askedBefore, conversations, datasets, draft, turns, working } from '../store';
import { isPassages, suggest } from '../suggest';
import type { Turn } from '../turn';
import { Icon } from './Icon';
import { TurnView } from './Turn';

const agentKey = 'parley.agent';
const agent = signal<Agent>(localStorage.getItem(agentKey) === 'nl2ql' ? 'nl2ql' : 'assistant');

const about: Record<Agent, string> = {
  assistant: 'Plans steps and answers in words',
  nl2ql: 'Writes one query and shows its rows',
};

export function ConversationView(): VNode {
  const list = turns.value;
  const frame = useLast(list);
  return (
    <div class="conversation">
      <div class="turns" ref={frame}>
        {list === undefined && <p class="waiting" aria-busy="true">Opening the conversation…</p>}
        {list?.length === 0 && <Welcome />}
        {list && list.length > 0 && <h1 class="offscreen">A conversation in {here.value}</h1>}
        {list && list.length > 0 && <Export list={list} />}
        {list?.map((turn) => <TurnView key={turn.key} turn={turn} />)}
      </div>
      <Composer working={working.value} />
    </div>
  );
}

/** Export gives the conversation as a Markdown file. */
function Export({ list }: { list: Turn[] }): VNode {
  const press = () => {
    const runs = list.flatMap((turn) => turn.run.value ?? []);
    const title = conversations.value?.find((each) => each.id === place.value?.conversation)?.title ?? runs[0]?.question ?? 'Conversation';
    download(`${datasetName(title).slice(0, 60)}.md`, 'text/markdown', toMarkdown(title, runs));
  };
  return <button type="button" class="export" onClick={press}><Icon name="download" /> Export as Markdown</button>;
}

/**
 * useLast keeps the last turn in sight as it grows, with its question on top,
 * unless the reader has gone up.
 */
function useLast(list: Turn[] | undefined) {
  const frame = useRef<HTMLDivElement>(null);
  const show = (within: number) => {
    const main = frame.current?.closest('main');
    const last = frame.current?.querySelector('article:last-of-type');
    if (!main || !last) return;
    const top = main.scrollTop + last.getBoundingClientRect().top - main.getBoundingClientRect().top - 24;
    if (Math.abs(top - main.scrollTop) < within) main.scrollTop = top;
  };
  useLayoutEffect(() => show(Infinity), [list?.length]);
  useLayoutEffect(() => show(600), [list?.at(-1)?.task.value]);
  return frame;
}

function Welcome(): VNode {
  const known = datasets.value;
  const questions = suggest(known ?? [], useDocument());
  if (place.value?.view === 'conversation') return <></>;
  return (
    <section class="welcome">
      <h1>Ask about your data</h1>
      {known && known.length === 0 ? (
        <p>There is no dataset in {here.value} yet.{mayAdd.value && ' Drop a file on this page to make one.'}</p>
      ) : (
        <p>
          Ask in your own words. The answer comes from {known ? listWords(known.map((d) => d.name)) : 'the datasets here'}
          {place.value && <>: see <a href={hrefOf(place.value.owner, place.value.namespace, 'data')}>what {known?.length === 1 ? 'it' : 'they'} {known?.length === 1 ? 'holds' : 'hold'}</a></>}.
        </p>
      )}
      <ul class="suggestions">
        {questions.map((question) => (
          <li><button type="button" onClick={() => ask(agent.value, question)}>{question}</button></li>
        ))}
      </ul>
    </section>
  );
}

/** useDocument gives the name of a document of the namespace; '' while none is known. */
function useDocument(): string {
  const [found, setFound] = useState('');
  const passages = datasets.value?.find(isPassages);
  const key = passages && `${passages.owner}/${passages.namespace}/${passages.name}`;
  useEffect(() => {
    setFound('');
    if (!passages) return undefined;
    const stop = new AbortController();
    rowsOf(passages, { limit: 1, offset: 0, sort: '', order: 'asc' }, stop.signal)
      .then(({ data }) => setFound(String(data[0]?.document ?? '')))
      .catch(() => undefined); // there is one example less
    return () => stop.abort();
  }, [key]);
  return found;
}

function Composer({ working }: { working: Turn | undefined }): VNode {
  const text = draft.value.user === user.value ? draft.value.text : '';
  const setText = (text: string) => (draft.value = { user: user.value, text });
  const box = useRef<HTMLTextAreaElement>(null);
  const asked = working?.run.value?.asks;
  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) box.current?.focus();
  }, [place.value?.conversation, here.value]);
  const submit = () => {
    if (!text.trim() || (working && !asked) || working?.answering.value || !turns.value) return;
    setText('');
    if (working) void working.answer({ text: text.trim() });
    else ask(agent.value, text.trim());
  };
  /** recall puts an earlier question into a field that is empty or holds one. */
  const recall = (event: KeyboardEvent, back: number) => {
    const all = askedBefore();
    const at = text ? all.lastIndexOf(text) : all.length;
    if (at < 0 || event.shiftKey || event.isComposing || (!text && back < 0)) return;
    event.preventDefault();
    if (at - back >= 0) setText(all[at - back] ?? '');
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowUp') recall(event, 1);
    if (event.key === 'ArrowDown') recall(event, -1);
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <label class="offscreen" for="question">{asked ? 'Your answer' : 'Your question'}</label>
      <textarea id="question" ref={box} rows={1} maxLength={30000} placeholder={asked ? 'Choose above, or answer in your own words' : 'Ask about your data'} value={text}
        onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKey} />
      <div class="composer-row">
        <AgentChoice />
        <ModelChoice />
        {working && !asked ? (
          <button type="button" class="round" aria-label="Stop" title="Stop" disabled={working.canceling.value}
            onClick={() => { void working.cancel(); box.current?.focus(); }}>
            <Icon name="stop" />
          </button>
        ) : (
          <button class="round primary" aria-label={asked ? 'Send the answer' : 'Ask'} title={asked ? 'Send the answer (Enter)' : 'Ask (Enter)'} disabled={!text.trim()}><Icon name="send" /></button>
        )}
      </div>
    </form>
  );
}

/** ModelChoice says who answers: the chosen model, or the built-in reader where none is set. */
function ModelChoice(): VNode | null {
  if (builtInOnly.value) return <span class="model hint" title="No language model is set on this server: the built-in reader answers.">Answered by the built-in reader</span>;
  if (!models.value) return null;
  return (
    <select class="model" aria-label="Model" value={model.value?.name} onChange={(event) => chooseModel(event.currentTarget.value)}>
      {models.value.map(({ name, builtIn }) => <option value={name}>{builtIn ? 'built-in reader' : name}</option>)}
    </select>
  );
}

function AgentChoice(): VNode {
  const choose = (name: Agent) => {
    agent.value = name;
    localStorage.setItem(agentKey, name);
  };
  return (
    <fieldset class="segments">
      <legend class="offscreen">What you get</legend>
      {agents.map((name) => (
        <label title={about[name]}>
          <input type="radio" name="agent" value={name} checked={agent.value === name} onChange={() => choose(name)} />
          <span>{agentWords[name]}</span>
        </label>
      ))}
    </fieldset>
  );
}
