/** A real browser for tests of the dashboard, from npm, with ears for everything that it complains about. */
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import {
  type Browser,
  type BrowserContextOptions,
  type Page,
  chromium as engine,
} from 'playwright-core';
import { onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const VERSION = manifest.devDependencies['@sparticuz/chromium'];

/** Unpacked once a machine: test files run side by side, so it is unpacked elsewhere and then moved. */
async function program(): Promise<{ readonly path: string; readonly libraries: string }> {
  const folder = join(tmpdir(), `millrace-chromium-${VERSION}-${process.getuid?.() ?? 0}`);
  if (!existsSync(folder)) {
    const draft = mkdtempSync(`${folder}-`);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = draft;
    // Also unpacks the libraries that a bare system lacks.
    process.env['AWS_EXECUTION_ENV'] = 'AWS_Lambda_nodejs20.x';
    try {
      await chromium.executablePath();
    } finally {
      delete process.env['AWS_EXECUTION_ENV'];
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
    try {
      renameSync(draft, folder);
    } catch {
      // Somebody else was faster.
      rmSync(draft, { recursive: true, force: true });
    }
  }
  const libraries = readdirSync(folder).find((name) => name.startsWith('al20'));
  return { path: join(folder, 'chromium'), libraries: join(folder, libraries ?? '', 'lib') };
}

let running: Promise<Browser> | null = null;

async function launch(): Promise<Browser> {
  const { path, libraries } = await program();
  const options = {
    executablePath: path,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
  };
  try {
    return await engine.launch(options);
  } catch {
    // A system without the libraries that browsers need: those that came along are put behind its own.
    return engine.launch({ ...options, env: { ...process.env, LD_LIBRARY_PATH: libraries } });
  }
}

export async function closeBrowser(): Promise<void> {
  const browser = await running;
  running = null;
  await browser?.close();
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors of scripts, refusals by the policy, requests to elsewhere. */
  readonly complaints: string[];
}

/** Closed with the test that opens it. */
export async function openPage(
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  running ??= launch();
  const browser = await running;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const { origin } = new URL(address);
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:'))
      complaints.push(`asks ${url}`);
  });
  await page.goto(address);
  return { page, complaints };
}
