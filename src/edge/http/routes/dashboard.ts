/**
 * The dashboard: static files. They contain no data, so they are open to everybody; what they show comes from
 * the API.
 */
import { dashboardFiles } from '../dashboard-files.ts';
import { notFound } from '../refusal.ts';
import type { Answer, Call, Route } from '../route.ts';

/**
 * Scripts, styles and data come from this server only, nothing inline is run, and text cannot become code
 * (`require-trusted-types-for`). A page elsewhere cannot frame this one.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  // Names are stable, so that nodes of two versions behind one address can serve each other's page; the
  // browser asks each time whether its copy is current.
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  vary: 'accept-encoding',
};

export const dashboardRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/',
    role: null,
    summary: 'The dashboard',
    answers: { 200: { description: 'A page for browsers.', contentType: 'text/html' } },
    handle: (call) => fileAnswer('index.html', call),
  },
  {
    method: 'GET',
    path: '/assets/:file',
    role: null,
    summary: 'A file of the dashboard',
    answers: {
      200: {
        description: 'A script, a style sheet or a picture.',
        contentType: 'text/javascript',
        otherTypes: ['text/css', 'image/svg+xml'],
      },
    },
    handle: (call) => fileAnswer(call.path['file'] ?? '', call),
  },
];

function fileAnswer(name: string, { headers }: Call): Answer {
  const file = dashboardFiles().get(name);
  if (file === undefined) {
    throw notFound(`There is no file '${name.slice(0, 80)}' in the dashboard.`, 'Open / instead.');
  }
  const { type, bytes, gzipped, etag } = file;
  const known = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
  if (known.includes(etag) || known.includes(`W/${etag}`)) {
    return { kind: 'file', status: 304, type, bytes: null, headers: { ...HEADERS, etag } };
  }
  const takesGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  const encoding = takesGzip ? { 'content-encoding': 'gzip' } : {};
  return {
    kind: 'file',
    status: 200,
    type,
    bytes: takesGzip ? gzipped : bytes,
    headers: { ...HEADERS, ...encoding, etag },
  };
}
