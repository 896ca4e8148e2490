/** Opens an address in the user's browser, if there is one. */
import { spawn } from 'node:child_process';

/** The program of each system that opens an address. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};
/** An opener without a browser says so at once; one that starts a browser may live as long as it. */
const PROMPT_MS = 1_500;

export interface BrowserOptions {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
}

/** Whether a browser was asked to open it. */
export function openInBrowser(url: string, options: BrowserOptions): Promise<boolean> {
  const { platform, environment } = options;
  if (!hasDesktop(options)) return Promise.resolve(false);
  const [program = 'xdg-open', ...args] = OPENERS[platform] ?? [];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], {
      ...{ env: environment, stdio: 'ignore', detached: true },
    });
    const later = setTimeout(() => resolve(true), PROMPT_MS);
    const end = (isOpened: boolean): void => {
      clearTimeout(later);
      resolve(isOpened);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
    child.unref();
  });
}

/** Without a desktop xdg-open would take a browser for the terminal, in the middle of the output. */
function hasDesktop({ platform, environment }: BrowserOptions): boolean {
  if (platform === 'darwin' || platform === 'win32') return true;
  const names = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME', 'BROWSER'];
  return names.some((name) => (environment[name] ?? '') !== '');
}
