import { effect } from '@preact/signals';
import { render } from 'preact';
import { here, listen } from './place';
import { watchSaved } from './saved';
import { restore, takeFragment, token } from './session';
import { refresh, watch } from './store';
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
    document.title = here.value ? `${here.value} · Parley` : 'Parley';
  });
  render(<App />, document.getElementById('page')!);
});
