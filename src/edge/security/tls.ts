/** Certificates and keys, read once at the start and checked there: a wrong one stops the node, not the first caller. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MillraceError } from '../../scheduler/core/index.ts';

/** The settings by these names. */
export interface TlsFiles {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsCa: string | undefined;
}

/** What a server needs: PEM, for node:https and for gRPC alike. With `ca` gRPC peers must show a certificate. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
}

/** What a client needs; without `ca` it trusts whom the machine trusts, without `cert` it shows none. */
export interface ClientTls {
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly ca: Buffer | undefined;
}

interface Pem {
  readonly flag: string;
  readonly path: string;
  readonly bytes: Buffer;
}

/** `undefined` when no certificate is set: the server then speaks plain text. */
export function loadServerTls(files: TlsFiles): ServerTls | undefined {
  const { cert, key, ca } = loadClientTls(files);
  if (cert === undefined || key === undefined) {
    if (ca === undefined) return undefined;
    throw bad('--tls-ca', 'is set, but a server that checks peers needs --tls-cert and --tls-key');
  }
  return { cert, key, ca };
}

export function loadClientTls(files: TlsFiles, now: Date = new Date()): ClientTls {
  const { tlsCert, tlsKey, tlsCa } = files;
  const ca = tlsCa === undefined ? undefined : read('--tls-ca', tlsCa);
  if (ca !== undefined) for (const each of certificatesIn(ca)) checkDates(each, ca, now);
  if (tlsCert === undefined || tlsKey === undefined) {
    if (tlsCert !== undefined) throw bad('--tls-cert', 'is set without --tls-key');
    if (tlsKey !== undefined) throw bad('--tls-key', 'is set without --tls-cert');
    return { cert: undefined, key: undefined, ca: ca?.bytes };
  }
  const cert = read('--tls-cert', tlsCert);
  const key = read('--tls-key', tlsKey);
  const [own] = certificatesIn(cert);
  if (own === undefined) throw bad(`${cert.flag} ${cert.path}`, 'contains no certificate');
  checkDates(own, cert, now);
  if (!own.checkPrivateKey(privateKeyIn(key))) {
    throw bad(`${key.flag} ${key.path}`, `does not belong to the certificate ${cert.path}`);
  }
  return { cert: cert.bytes, key: key.bytes, ca: ca?.bytes };
}

/** For `https.createServer`. People's clients are known by tokens: only gRPC asks for certificates. */
export function httpsOptions(tls: ServerTls): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
} {
  return { cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' };
}

function read(flag: string, path: string): Pem {
  try {
    return { flag, path, bytes: readFileSync(path) };
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw bad(`${flag} ${path}`, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The leaf comes first, then its issuers. */
function certificatesIn({ flag, path, bytes }: Pem): readonly X509Certificate[] {
  const blocks = bytes.toString('latin1').match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw bad(`${flag} ${path}`, 'contains no certificate in PEM format');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw bad(`${flag} ${path}`, 'contains an invalid certificate');
  }
}

function checkDates(certificate: X509Certificate, { flag, path }: Pem, now: Date): void {
  const { validFrom, validTo } = certificate;
  if (Date.parse(validTo) < now.getTime()) throw bad(`${flag} ${path}`, `expired on ${validTo}`);
  if (Date.parse(validFrom) > now.getTime()) {
    throw bad(`${flag} ${path}`, `is not valid before ${validFrom}`);
  }
}

function privateKeyIn({ flag, path, bytes }: Pem): KeyObject {
  try {
    return createPrivateKey(bytes);
  } catch {
    const isLocked = /-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(bytes.toString('latin1'));
    // The cause is left out: nothing of a private key may reach a log.
    throw bad(
      `${flag} ${path}`,
      isLocked
        ? 'is encrypted with a passphrase, which is not supported'
        : 'contains no private key in PEM format',
    );
  }
}

function bad(what: string, why: string): MillraceError {
  return new MillraceError({ code: 'bad_setting', what: `${what} ${why}.` });
}
