/** The built dashboard, held in memory: a handful of files that change only with the package. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export interface DashboardFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** From `dist/edge/http` the dashboard is two folders up; the sources of this file use what was built last. */
const FOLDERS: readonly URL[] = ['../../dashboard/', '../../../dist/dashboard/'].map(
  (path) => new URL(path, import.meta.url),
);

let loaded: ReadonlyMap<string, DashboardFile> | null = null;

/** By name. Empty when the package was built without the dashboard. */
export function dashboardFiles(): ReadonlyMap<string, DashboardFile> {
  loaded ??= readFiles();
  return loaded;
}

function readFiles(): ReadonlyMap<string, DashboardFile> {
  const folder = FOLDERS.find((each) => existsSync(new URL('index.html', each)));
  if (folder === undefined) return new Map();
  const names = readdirSync(fileURLToPath(folder));
  return new Map(
    names.flatMap((name): [string, DashboardFile][] => {
      const type = TYPES[name.split('.').at(-1) ?? ''];
      if (type === undefined) return [];
      const bytes = readFileSync(new URL(name, folder));
      const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
      return [[name, { type, bytes, gzipped: gzipSync(bytes, { level: 9 }), etag: `"${digest}"` }]];
    }),
  );
}
