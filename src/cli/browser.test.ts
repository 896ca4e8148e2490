import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openInBrowser } from './browser.ts';

const url = 'http://127.0.0.1:7070/?a=1&b=$(id)';

function opener(code: number) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-browser-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const seen = join(folder, 'seen');
  const script = `#!/bin/sh\nprintf '%s' "$1" > ${seen}\nexit ${code}\n`;
  writeFileSync(join(folder, 'xdg-open'), script, { mode: 0o755 });
  const environment = { PATH: folder, DISPLAY: ':0' };
  return { environment, seen: () => (existsSync(seen) ? readFileSync(seen, 'utf8') : null) };
}

test('the address reaches the browser as it is', async () => {
  const { environment, seen } = opener(0);
  expect(await openInBrowser(url, { platform: 'linux', environment })).toBe(true);
  expect(seen()).toBe(url);
});

test('an opener that finds no browser has opened nothing', async () => {
  const { environment } = opener(3);
  expect(await openInBrowser(url, { platform: 'linux', environment })).toBe(false);
});

test('without a desktop or an opener nothing is opened', async () => {
  const { environment, seen } = opener(0);
  const headless = { ...environment, DISPLAY: '' };
  expect(await openInBrowser(url, { platform: 'linux', environment: headless })).toBe(false);
  expect(seen()).toBeNull();
  const empty = { PATH: '/nonexistent', DISPLAY: ':0' };
  expect(await openInBrowser(url, { platform: 'linux', environment: empty })).toBe(false);
});
