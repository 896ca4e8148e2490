/**
 * The dashboard: one page, served by every node, that shows what the HTTP API tells and asks it for changes. It keeps
 * nothing but the theme, and a token for the time that its tab is open.
 */
import './style/main.css';
import { render } from 'preact';
import { followEvents } from './api/live.ts';
import { watchClusterStatus } from './api/cluster-status.ts';
import { App } from './app.tsx';
import { watchKeys } from './keyboard.ts';
import { watchRoute } from './route.ts';
import { watchTheme } from './theme.ts';
import { showHidden } from './visible-text.ts';
import { watchClock } from './words.ts';

export * from './shared.ts';

showHidden();
watchTheme();
watchRoute();
watchClock();
watchKeys();
followEvents();
watchClusterStatus();
render(<App />, document.querySelector('#app') as Element);
