/**
 * Tables: the catalog file, paths and globs, roots, and pinned sets of files. It says which files a query reads
 * and notices when they change; reading them is the engine's work.
 */
export type * from './catalog-port.ts';
export { CatalogFile } from './catalog-file.ts';
export { Catalog } from './catalog.ts';
export { Pins } from './pin.ts';
export type { Pin } from './pin.ts';
export { allowedPaths } from './roots.ts';
export type { WithoutRoots } from './roots.ts';
