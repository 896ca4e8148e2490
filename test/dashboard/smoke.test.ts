/** One look at the dashboard with a real browser; the rest is in the release tests. */
import { afterAll, expect, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

test('shows a job that is submitted while the page is open, without a complaint of the browser', async () => {
  const server = await startDashboard(['--trace-url', 'https://traces.example/{trace}?x=1']);
  const { page, complaints } = await openPage(server.url);
  await page.getByText('No jobs yet').waitFor();
  const id = await server.submit({
    name: 'hello <img src=x onerror=alert(1)>',
    traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`,
    tasks: [{ id: 'a', executor: 'echo', input: { said: '<script>alert(2)</script>' } }],
  });
  await page.getByRole('link', { name: 'hello <img' }).click();
  await page.getByText(/^Succeeded in/).waitFor();
  expect(page.url()).toContain(`#/jobs/${id}`);
  const trace = page.getByRole('link', { name: /^trace / });
  expect(await trace.getAttribute('href')).toBe(`https://traces.example/${'a1'.repeat(16)}?x=1`);
  await page.getByRole('link', { name: 'Result' }).click();
  await page.getByText('"<script>alert(2)</script>"').waitFor();
  // Loaded only now, with what it shares with the page.
  await page.getByRole('link', { name: 'Health' }).click();
  await page.getByText('All is well.').waitFor();
  await page.keyboard.press('p');
  await page.getByRole('button', { name: 'Paused' }).waitFor();
  expect(complaints).toEqual([]);
}, 120_000);
