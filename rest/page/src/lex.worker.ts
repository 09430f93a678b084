import { lex } from './lex';

addEventListener('message', (event) => postMessage(lex(event.data)));
postMessage('ready');
