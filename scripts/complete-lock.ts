/**
 * Adds to package-lock.json the optional packages of other platforms that npm left out. npm forgets
 * those that the registry in use does not serve, and `npm ci` then refuses the file, on every platform.
 * Hashes that are missing are asked for: without one npm installs a package unverified.
 * Run `npm run lock` after a change of dependencies.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

interface Entry {
  readonly version?: string;
  integrity?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockFile {
  packages: Record<string, Entry>;
}

const path = 'package-lock.json';
const lock = JSON.parse(readFileSync(path, 'utf8')) as LockFile;

const systems = /^(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)$/;
const processors = /^(arm|arm64|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)$/;

/** Platform packages are named after what they run on: `@oxlint/binding-linux-arm64-musl`. */
function platformOf(name: string): Pick<Entry, 'cpu' | 'os' | 'libc'> {
  const words = name.split(/[/-]/);
  const os = words.filter((word) => systems.test(word));
  const cpu = words.filter((word) => processors.test(word));
  const libc = words.flatMap((word) =>
    word.startsWith('musl') ? ['musl'] : word.startsWith('gnu') ? ['glibc'] : [],
  );
  return { cpu, ...(os.length > 0 && { os }), ...(libc.length > 0 && { libc }) };
}

/** Where Node looks for a package that is asked for from `from`, nearest first. */
function* placesFor(from: string, name: string): Generator<string> {
  for (
    let folder = from;
    folder !== '';
    folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')
  ) {
    yield `${folder}/node_modules/${name}`;
  }
  yield `node_modules/${name}`;
}

const added: string[] = [];
for (const [parentPath, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if ([...placesFor(parentPath, name)].some((place) => place in lock.packages)) continue;
    const platform = platformOf(name);
    if (platform.cpu?.length !== 1 || !/^\d/.test(version)) {
      throw new Error(`Cannot tell what ${name}@${version} runs on: add it to ${path} by hand.`);
    }
    // Beside its parent.
    const place = parentPath.replace(/(?<=(^|\/)node_modules\/)(@[^/]+\/)?[^/]+$/, name);
    const dev = parent.dev === true && { dev: true as const };
    lock.packages[place] = { version, ...platform, ...dev, optional: true };
    added.push(place);
  }
}

/** Null when the registry in use does not have the package. */
function integrityOf(name: string, version: string): string | null {
  try {
    const view = ['view', `${name}@${version}`, 'dist.integrity'];
    const text = execFileSync('npm', view, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim().startsWith('sha512-') ? text.trim() : null;
  } catch {
    return null;
  }
}

let unverified = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  if (place === '' || entry.integrity !== undefined || entry.version === undefined) continue;
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const integrity = integrityOf(name, entry.version);
  if (integrity === null) unverified += 1;
  else entry.integrity = integrity;
}

const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries(sorted);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${path}: added ${added.length} packages of other platforms`);
if (unverified > 0) console.warn(`${unverified} packages have no hash: this registry lacks them`);
