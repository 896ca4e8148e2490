import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiBench, openApi } from '../../../test/rig/api.ts';
import { tokenAccess } from '../security/index.ts';
import { dashboardFiles } from './dashboard-files.ts';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

describe('the dashboard', () => {
  let bench: ApiBench;
  beforeAll(async () => {
    bench = await openApi();
  });
  afterAll(() => bench.close());

  test.runIf(dashboardFiles().size > 0)(
    'is served with a policy that runs no foreign or inline code',
    async () => {
      const response = await fetch(`${bench.api.url}/`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const policy = response.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      const html = await response.text();
      expect(html).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/);
      expect(html).not.toMatch(/(src|href)="(\/|https?:)/);
    },
  );

  test.runIf(dashboardFiles().size > 0)(
    'answers 304 to a browser that has the current file',
    async () => {
      const first = await fetch(`${bench.api.url}/assets/main.js`);
      const etag = first.headers.get('etag') ?? '';
      expect(first.headers.get('cache-control')).toBe('no-cache');
      const again = await fetch(`${bench.api.url}/assets/main.js`, {
        headers: { 'if-none-match': etag },
      });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
      const other = await fetch(`${bench.api.url}/assets/main.js`, {
        headers: { 'if-none-match': '"other"' },
      });
      expect(other.status).toBe(200);
    },
  );

  test.each([
    '/assets/nothing.js',
    '/assets/..%2fpackage.json',

    '/assets/constructor',
  ])('has no file at %s', async (path) => {
    const { status, body } = await bench.call('GET', path);
    expect([status, body.code]).toEqual([404, 'not_found']);
  });
});

test('says what each role may do', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'me-')), 'tokens');
  writeFileSync(path, 'admin 0123456789abcdef01 ada\nread 0123456789abcdef02 bob\n', {
    mode: 0o600,
  });
  const bench = await openApi({ access: tokenAccess({ path, warn: () => {} }) });
  try {
    const as = async (token: string): Promise<unknown> => {
      const { body } = await bench.call('GET', '/api/v1/me', undefined, {
        authorization: `Bearer ${token}`,
      });
      return body;
    };
    expect(await as('0123456789abcdef02')).toMatchObject({
      name: 'bob',
      role: 'read',
      roles: ['read'],
    });
    expect(await as('0123456789abcdef01')).toMatchObject({
      roles: ['admin', 'submit', 'read', 'worker'],
      node: { id: 'n-1', leads: true, storeAnswers: true, traceUrl: null },
    });
    const { status } = await bench.call('GET', '/api/v1/me');
    expect(status).toBe(401);
  } finally {
    await bench.close();
  }
});
