import { render } from 'preact';
import { listen } from './place';
import { takeFragment } from './session';
import { watch } from './store';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import { App } from './views/App';

listen(takeFragment);
watch();
render(<App />, document.getElementById('page')!);
