/**
 * What views that are loaded later take from the page, so that there is one of each: they import it from `main.js`. The
 * names are therefore kept when the page is built. `scripts/build-dashboard.ts` reads this list.
 */
export { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
export { useEffect, useRef } from 'preact/hooks';
export { effect, signal, useSignal } from '@preact/signals';
export * from './api/call.ts';
export * from './api/cluster-status.ts';
export * from './api/live.ts';
export * from './api/problem.ts';
export * from './parts/bar-place.ts';
export * from './parts/dialog.tsx';
export * from './parts/fresh-id.ts';
export * from './parts/json-input.tsx';
export * from './parts/json-view.tsx';
export * from './parts/marks.tsx';
export * from './parts/resource.ts';
export * from './parts/tabs.tsx';
export * from './parts/virtual-list.tsx';
export * from './route.ts';
export * from './words.ts';
