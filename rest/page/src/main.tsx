import { effect } from '@preact/signals';
import { render } from 'preact';
import { here, listen, place } from './place';
import { watchSaved } from './saved';
import { restore, takeFragment, token } from './session';
import { shortened } from './names';
import { conversations, refresh, turns, watch } from './store';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/import.css';
import './styles/dataset.css';
import './styles/saved.css';
import { App } from './views/App';

void restore().then(() => {
  listen(takeFragment);
  watch();
  watchSaved();
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && token.value) void refresh();
  });
  effect(() => {
    const { dataset, conversation } = place.value ?? {};
    const asked = turns.value?.[0];
    const question = conversation && (conversations.value?.find(({ id }) => id === conversation)?.title || asked?.run.value?.question || asked?.question.text);
    document.title = [shortened(dataset || question || here.value, 80), 'Parley'].filter(Boolean).join(' · ');
  });
  render(<App />, document.getElementById('page')!);
});
