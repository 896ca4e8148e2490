/**
 * `npm ci` builds. `npx millrace` in a clone runs this script as well, because npm links the package
 * into its cache first: a build has no place there, and one that fails would leave the cache broken.
 */
import { execSync } from 'node:child_process';

if (process.env['npm_command'] !== 'exec') execSync('npm run build', { stdio: 'inherit' });
